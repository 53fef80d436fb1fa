/** What a server answers while the storage is not its own, or while it can't be certain that it is (docs/node.md#several-servers). */
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { isLoopback } from '../http/host-check.ts';
import type { OtherServer, SharedHome } from './home.ts';

interface Situation {
  readonly home: Pick<SharedHome, 'isOwner' | 'owner' | 'rollback' | 'machine'>;
  /** Whether this server has opened the databases. */
  readonly isOpen: boolean;
  /** Where this server answers, if that is known. */
  readonly ownUrl: string | undefined;
  /** Headers with which a page of another origin may read the response. */
  readonly headers: Readonly<Record<string, string>>;
}

const UP = /^\/+_up\/*(?:[?#]|$)/;

const RETRY_S = { soon: 1, later: 5 };

export function answerWithoutStorage(request: PlainRequest, situation: Situation): PlainResponse {
  const path = pathOf(request.url);
  const isUp = UP.test(path) && (request.method === 'GET' || request.method === 'HEAD');
  const { home, isOpen } = situation;
  if ((request.hops ?? 0) > 0) return notYet(situation);
  if (home.rollback !== undefined) {
    const { code, reason } = home.rollback;
    if (isUp) return answer(situation, 503, { status: code, role: 'none', reason });
    return answer(situation, 503, { error: code, reason });
  }
  if (home.isOwner) return isOpen ? lapsed(situation, isUp) : starting(situation, isUp);
  if (isUp) return answer(situation, 503, { status: 'standby', role: 'standby', owner: home.owner?.address ?? null });
  return sendOn(request, path, situation);
}

/** Another server of the cluster has sent the request: it looks who owns the database now, and sends the request there. */
function notYet(situation: Situation): PlainResponse {
  const reason =
    'The server does not own the database, or not yet. The request was not processed. Send it again in a moment.';
  const response = answer(
    situation,
    503,
    { error: 'service_unavailable', reason },
    { 'retry-after': `${RETRY_S.soon}` },
  );
  return { ...response, errorCode: 'not_owner' };
}

/** The owner has not renewed its lease for a while: another server may have the storage. */
function lapsed(situation: Situation, isUp: boolean): PlainResponse {
  const reason =
    'The server has not reached its storage for a while, and another server may have taken it. Try again in a moment; its log says more.';
  if (isUp) return answer(situation, 503, { status: 'storage_unreachable', role: 'owner', reason });
  return answer(situation, 503, { error: 'service_unavailable', reason }, { 'retry-after': `${RETRY_S.later}` });
}

function starting(situation: Situation, isUp: boolean): PlainResponse {
  if (isUp) return answer(situation, 503, { status: 'starting', role: 'owner' });
  const reason = 'The server is taking over the storage from another one. Send the request again in a moment.';
  return answer(situation, 503, { error: 'service_unavailable', reason }, { 'retry-after': `${RETRY_S.soon}` });
}

function sendOn(request: PlainRequest, path: string, situation: Situation): PlainResponse {
  const { home, ownUrl } = situation;
  const { owner } = home;
  const target = owner === undefined ? undefined : addressFor(owner, home.machine, { peer: request.peer, ownUrl });
  const retry = { 'retry-after': `${RETRY_S.later}` };
  if (target !== undefined) {
    const location = `${target.replace(/\/$/, '')}${path}`;
    const reason = `This server stands by. The databases are served at ${target}; send the request there.`;
    return answer(situation, 307, { error: 'temporary_redirect', reason }, { location, ...retry });
  }
  const who = owner === undefined ? 'No server serves the databases at the moment' : `${owner.described} serves them`;
  const reason = `This server stands by for the databases. ${who}. Send the request there, or again in a moment.`;
  return answer(situation, 503, { error: 'service_unavailable', reason }, retry);
}

/** Returns the owner's address if the sender of the request can be expected to reach it. */
function addressFor(
  { address, machine }: OtherServer,
  ownMachine: string,
  { peer, ownUrl }: { readonly peer: string | undefined; readonly ownUrl: string | undefined },
): string | undefined {
  if (address === undefined) return undefined;
  const { hostname, host } = new URL(address);
  // All addresses of its machine: none of them is known.
  if (hostname === '0.0.0.0' || hostname === '[::]') return undefined;
  const isHere = machine === ownMachine;
  // A server that was here before this one.
  if (isHere && ownUrl !== undefined && new URL(ownUrl).host === host) return undefined;
  if (!isLoopback(hostname)) return address;
  return isHere && (peer === undefined || isLoopback(peer)) ? address : undefined;
}

/** From the first slash of the path on. */
function pathOf(url: string): string {
  if (url.startsWith('/')) return url;
  const { pathname, search } = new URL(url, 'http://localhost');
  return `${pathname}${search}`;
}

function answer(
  { headers }: Situation,
  status: number,
  body: Readonly<Record<string, string | null>>,
  more: Readonly<Record<string, string>> = {},
): PlainResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers, ...more },
    body: `${JSON.stringify(body)}\n`,
  };
}
