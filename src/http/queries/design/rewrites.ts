/** `_rewrite`: sends the request through the router again, with the address that the design document's rules produce. */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import { ownMember } from '../../../base/json/objects.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { runCooperatively } from '../../../base/shared/turn.ts';
import { booleanSetting } from '../../../base/system/config.ts';
import { readDesign } from '../../documents/design-document.ts';
import { originOf } from '../../request/address.ts';
import { toObject } from '../../request/bodies.ts';
import type { Answer, Context } from '../../request/context.ts';
import { withSnapshot } from '../../request/snapshot-lease.ts';
import { StandingRequest } from '../../request/standing-request.ts';
import type { DesignService } from './design-service.ts';
import { type Rewritten, rewrite } from './rewrite-rules.ts';

/** With more rewrites than this, the rules form a loop (docs/http/functions.md#rewrite-rules). */
const MAX_REWRITES = 100;
/** A longer design document counts as several: all of it is read each time. */
const LENGTH_OF_ONE = 65_536;

/** `rest`: the design document's name, and the path to rewrite. */
export async function answerRewritten(
  _service: DesignService,
  context: Context,
  name: string,
  rest: readonly string[],
): Promise<Answer> {
  const [designName = '', ...path] = rest;
  if (context.request.signal?.aborted === true) throw new DatabaseError('cancelled', 'The client is gone.');
  if (context.rewrites >= MAX_REWRITES) throw new DatabaseError('bad_request', 'Exceeded rewrite recursion limit');
  const design = await withSnapshot(context, name, (snapshot) => readDesign(snapshot, designName));
  const rules = ownMember(toObject(await parseInTurns(design.body)), 'rewrites');
  // Unless this is switched off, rules lead no further than the document's database.
  const isSecure = booleanSetting(context.services.config, 'httpd', 'secure_rewrites');
  const asked = { method: methodOf(context), path, query: context.query.entries() };
  const rewritten = await runCooperatively(rewrite(rules, asked, { isSecure }));
  const { url } = context.request;
  context.requestedPath ??= url.slice(originOf(url)?.length ?? 0);
  const request = rewrittenRequest(context, [name, '_design', designName], rewritten);
  const taken = Math.ceil(design.body.length / LENGTH_OF_ONE);
  return context.answerInstead(request, context.method, context.rewrites + taken);
}

function methodOf(context: Context): string {
  return context.isHead ? 'HEAD' : context.method;
}

function rewrittenRequest(context: Context, base: readonly string[], { path, search }: Rewritten): Context['request'] {
  const { request, services } = context;
  const segments = [...base];
  for (const segment of path) {
    if (segment === '..') segments.pop();
    else segments.push(segment);
  }
  const address = `${services.basePath}/${segments.map(encodeURIComponent).join('/')}`;
  const url = `${originOf(request.url) ?? ''}${address}${search === '' ? '' : `?${search}`}`;
  return new StandingRequest(request, { url });
}
