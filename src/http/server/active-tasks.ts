/** `GET /_active_tasks` (docs/http.md#active-tasks): what runs in the background. */
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer } from '../response/responses.ts';

export function getActiveTasks(context: Context): Answer {
  return jsonAnswer(context, 200, JSON.stringify(context.services.tasks.list()));
}
