/** `POST /_restart`: closes the service, and opens it again with its current configuration (docs/http/server.md#restart). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { requireJsonType } from '../../request/bodies.ts';
import type { Answer, Context } from '../../request/context.ts';
import { okAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';

/** Answers before the restart is done. */
export async function postRestart({ restart }: AdministrationService, context: Context): Promise<Answer> {
  requireJsonType(context);
  if (restart === undefined) {
    throw new DatabaseError(
      'not_implemented',
      'This service can not restart itself: the program that opened it must close it and open it again.',
    );
  }
  await restart();
  return okAnswer(context, 202);
}
