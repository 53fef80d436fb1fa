/** `GET /_active_tasks` (interface.md 2.11): what runs in the background. */
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer } from '../response/responses.ts';

export function getActiveTasks(context: Context): Answer {
  return jsonAnswer(context, 200, JSON.stringify(context.services.tasks.list()));
}
