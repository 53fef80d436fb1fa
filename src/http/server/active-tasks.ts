/** `GET /_active_tasks` (docs/http/server.md#active-tasks): the background work that is running. */
import { joinInSteps, runCooperatively } from '../../base/shared/turn.ts';
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer } from '../response/responses.ts';

export async function getActiveTasks(context: Context): Promise<Answer> {
  const tasks = await runCooperatively(joinInSteps(context.services.tasks.list(), (task) => JSON.stringify(task)));
  return jsonAnswer(context, 200, `[${tasks}]`);
}
