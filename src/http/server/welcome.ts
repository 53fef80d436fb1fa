/** What the server says about itself (docs/http/server.md). */
import { VERSION } from '../../base/system/version.ts';
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer } from '../response/responses.ts';

export function getWelcome(context: Context): Answer {
  const uuid = context.services.registry.serverUuid;
  const welcome = { svc: 'Welcome', uuid, version: VERSION, vendor: { name: 'Settee', version: VERSION } };
  return jsonAnswer(context, 200, JSON.stringify(welcome));
}

/** Whether clients should use the service; while it shuts down, no request gets here. */
export function getUp(context: Context): Answer {
  const mode = context.services.config.get('svc', 'maintenance_mode') ?? 'false';
  if (mode !== 'false') {
    const status = mode === 'true' ? 'maintenance_mode' : mode;
    return jsonAnswer(context, 404, JSON.stringify({ status }));
  }
  return jsonAnswer(context, 200, '{"status":"ok"}');
}
