/** `GET /_utils/…`: the files of the administration page, if the host has them (docs/http/server.md#administration-page). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Answer, Context } from '../../request/context.ts';
import { ownBase, withLocation } from '../../response/locations.ts';
import { matchesTag } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';
import { HIDDEN, pageHeaders, REVALIDATED } from './page-answer.ts';

export async function getPage(
  { pages, readsOnly }: AdministrationService,
  context: Context,
  _database: string,
  rest: readonly string[],
): Promise<Answer> {
  const name = rest.length === 0 ? 'index.html' : rest.join('/');
  if (name === 'settings.json') return settingsAnswer(readsOnly());
  if (pages === undefined) {
    throw new DatabaseError(
      'not_implemented',
      'This app does not include the administration page, or the request did not go through its service worker. With Vite, settee({ utils: true }) adds the page; see docs/browser.md#the-administration-page.',
    );
  }
  const [path = ''] = context.request.url.split(/[?#]/, 1);
  if (rest.length === 0 && !path.endsWith('/')) {
    return withLocation({ status: 301, headers: {}, body: null }, `${ownBase(context)}/_utils/`);
  }
  const file = await pages.get(name);
  if (file === undefined) throw new DatabaseError('not_found', 'missing');
  const headers = pageHeaders(file);
  if (matchesTag(context.header('if-none-match'), file.tag)) return { status: 304, headers, body: null };
  return { status: 200, headers, body: file.body };
}

/** What the page asks for before it shows anything. On every host, also where something else serves the page. */
function settingsAnswer(isReadOnly: boolean): Answer {
  const headers = { 'content-type': 'application/json', 'cache-control': REVALIDATED, ...HIDDEN };
  return { status: 200, headers, body: `${JSON.stringify({ read_only: isReadOnly })}\n` };
}
