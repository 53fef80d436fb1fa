/** `GET /_utils/…`: the files of the administration page, if the host has them (docs/http/server.md#administration-page). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Answer, Context } from '../../request/context.ts';
import { ownBase, withLocation } from '../../response/locations.ts';
import { matchesTag } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';

/** The page runs its own scripts only, and shows only what this server sends. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const FOREVER = 'public, max-age=31536000, immutable';
const MUST_REVALIDATE = 'no-cache';
const HIDDEN = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

export async function getPage(
  { pages, readsOnly }: AdministrationService,
  context: Context,
  _database: string,
  rest: readonly string[],
): Promise<Answer> {
  if (pages === undefined) {
    throw new DatabaseError('not_implemented', 'The administration page is not part of this host; see docs/node.md.');
  }
  const [path = ''] = context.request.url.split(/[?#]/, 1);
  if (rest.length === 0 && !path.endsWith('/')) {
    return withLocation({ status: 301, headers: {}, body: null }, `${ownBase(context)}/_utils/`);
  }
  const name = rest.length === 0 ? 'index.html' : rest.join('/');
  if (name === 'settings.json') return settingsAnswer(readsOnly());
  const file = await pages.get(name);
  if (file === undefined) throw new DatabaseError('not_found', 'missing');
  const headers = {
    'content-type': file.type,
    'cache-control': file.isLasting ? FOREVER : MUST_REVALIDATE,
    'content-security-policy': POLICY,
    ...HIDDEN,
    etag: file.tag,
  };
  if (matchesTag(context.header('if-none-match'), file.tag)) return { status: 304, headers, body: null };
  return { status: 200, headers, body: file.body };
}

/** What the page asks for before it shows anything. */
function settingsAnswer(isReadOnly: boolean): Answer {
  const headers = { 'content-type': 'application/json', 'cache-control': MUST_REVALIDATE, ...HIDDEN };
  return { status: 200, headers, body: `${JSON.stringify({ read_only: isReadOnly })}\n` };
}
