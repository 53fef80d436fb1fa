/** What a database keeps besides its documents: security object and revisions limit (docs/http/databases.md#security-object). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { checkValueInSteps } from '../../base/json/portable-values.ts';
import { minify } from '../../base/json/white-space.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import { fitsUtf8 } from '../../base/shared/utf8.ts';
import { parseBody, readJson, readText, toObject } from '../request/bodies.ts';
import { NUMBER, SECURITY } from '../request/body-bounds.ts';
import type { Answer, Context } from '../request/context.ts';
import { commitRight } from '../request/kept-rights.ts';
import { jsonAnswer, okAnswer } from '../response/responses.ts';

/** Maximum bytes of a security object (docs/http/databases.md#security-object). It stays in memory while its database is open. */
const MAX_SECURITY_BYTES = 1_048_576;

export async function getSecurity(context: Context, database: string): Promise<Answer> {
  const security = await context.useDatabase(database, async (open) => open.security);
  return jsonAnswer(context, 200, security);
}

/** Keeps the object as it was written, including unknown members. */
export async function putSecurity(context: Context, database: string): Promise<Answer> {
  const text = await readText(context, SECURITY);
  const value = toObject(await parseBody(context, text, SECURITY));
  await runCooperatively(checkValueInSteps(value));
  checkSecurity(value);
  const security = minify(text);
  if (!fitsUtf8(security, MAX_SECURITY_BYTES)) {
    const reason = `The security object is larger than ${MAX_SECURITY_BYTES} bytes. Keep what is not about access in a document.`;
    throw new DatabaseError('too_large', reason);
  }
  await context.useDatabase(database, (open) => open.setSecurity(security, commitRight(context)));
  context.services.access.securityChanged(database);
  return okAnswer(context, 200);
}

export async function getRevsLimit(context: Context, database: string): Promise<Answer> {
  const limit = await context.useDatabase(database, async (open) => open.revsLimit);
  return jsonAnswer(context, 200, String(limit));
}

export async function putRevsLimit(context: Context, database: string): Promise<Answer> {
  const limit = await readJson(context, NUMBER);
  if (typeof limit !== 'number' || !Number.isSafeInteger(limit)) {
    throw new DatabaseError('bad_request', 'Rev limit has to be an integer');
  }
  if (limit < 1) throw new DatabaseError('bad_request', `Rev limit is ${limit}; it has to be 1 or more`);
  await context.useDatabase(database, (open) => open.setRevsLimit(limit, commitRight(context)));
  return okAnswer(context, 200);
}

/** `readers` is an old name for `members`. */
function checkSecurity(security: JsonObject): void {
  for (const member of ['admins', 'members', 'readers']) {
    const group = ownMember(security, member);
    if (group === undefined) continue;
    if (!isObject(group)) throw new DatabaseError('bad_request', `${member} must be a JSON object`);
    for (const list of ['names', 'roles']) {
      if (isStringList(ownMember(group, list))) continue;
      throw new DatabaseError('bad_request', `${list} must be a JSON list of strings`);
    }
  }
}

function isStringList(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((item) => typeof item === 'string'));
}
