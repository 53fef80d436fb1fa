/** What the server says about itself (docs/http.md#server). */
import { VERSION } from '../../system/version.ts';
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer } from '../response/responses.ts';

export function getWelcome(context: Context): Answer {
  const uuid = context.services.registry.serverUuid;
  const welcome = { svc: 'Welcome', uuid, version: VERSION, vendor: { name: 'Settee', version: VERSION } };
  return jsonAnswer(context, 200, JSON.stringify(welcome));
}

export function getAllDatabases(context: Context): Answer {
  return jsonAnswer(context, 200, JSON.stringify(context.services.registry.names()));
}

/** Whether the service answers at all; while it shuts down nothing gets here. */
export function getUp(context: Context): Answer {
  return jsonAnswer(context, 200, '{"status":"ok"}');
}
