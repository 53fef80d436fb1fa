/**
 * Follows redirects as `fetch` does (Fetch Standard, "HTTP-redirect fetch"), except that nothing meant for one server only goes to
 * another one: neither credentials nor headers that the replication names. Each address is requested separately, so that it can be checked.
 */

/** Node's types and those of browsers name it differently. */
type SentBody = Exclude<RequestInit['body'], undefined>;

/** A request without its address. */
export interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly ownHeaders: Readonly<Record<string, string>>;
  readonly body?: SentBody;
}

interface Sending {
  readonly send: (address: string, sent: Sent) => Promise<Response>;
  /** Sends to a redirect target that is not the peer's own address. Fails if that address is not permitted. */
  readonly sendElsewhere: (address: string, sent: Sent) => Promise<Response>;
  /** The body itself is for that server only. */
  readonly isConfidential: boolean;
}

const MAX_REDIRECTIONS = 20;
const REDIRECTIONS: readonly number[] = [301, 302, 303, 307, 308];
const SEE_OTHER = 303;
const KEEPS_METHOD = 307;
/** Headers of the body, which is left out if the method becomes GET. */
const OF_BODY: readonly string[] = ['content-type', 'content-encoding'];

/** Fails with a `TypeError`, as `fetch` does, if a redirect can't be followed. */
export async function sendOn(address: string, sent: Sent, sending: Sending): Promise<Response> {
  const { send, isConfidential } = sending;
  const first = new URL(address);
  for (let count = 0; ; count++) {
    const isOfPeer = isOfSamePeer(new URL(address), first);
    const response = await (isOfPeer ? send(address, sent) : sendElsewhere(address, sent, sending));
    const location = REDIRECTIONS.includes(response.status) ? response.headers.get('location') : null;
    if (location === null) return response;
    // It does not matter whether this succeeds.
    response.body?.cancel().catch(() => undefined);
    if (count === MAX_REDIRECTIONS) throw failure('there are too many redirects');
    const next = resolve(location, address);
    const isElsewhere = next.origin !== new URL(address).origin;
    if (isConfidential && isElsewhere) throw failure('it redirects to another server, which gets no credentials');
    sent = redirected(sent, response.status, isElsewhere);
    address = next.href;
  }
}

/** Whether it is the requested origin, or the same host behind TLS. */
function isOfSamePeer({ origin, protocol, hostname }: URL, first: URL): boolean {
  return (
    origin === first.origin || (protocol === 'https:' && first.protocol === 'http:' && hostname === first.hostname)
  );
}

async function sendElsewhere(address: string, sent: Sent, sending: Sending): Promise<Response> {
  try {
    return await sending.sendElsewhere(address, sent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const why = error.cause instanceof Error ? error.cause.message : error.message;
    throw failure(`it redirects to ${new URL(address).origin}, and ${why}`);
  }
}

function redirected(sent: Sent, status: number, isElsewhere: boolean): Sent {
  const { method, headers, body } = sent;
  const ownHeaders = isElsewhere ? {} : sent.ownHeaders;
  const becomesGet = status === SEE_OTHER ? method !== 'HEAD' : status < KEEPS_METHOD && method === 'POST';
  if (becomesGet) {
    const kept = Object.entries(headers).filter(([name]) => !OF_BODY.includes(name));
    return { method: 'GET', headers: Object.fromEntries(kept), ownHeaders };
  }
  if (body instanceof ReadableStream) throw failure('it redirects a streamed body, which can be sent only once');
  return { ...sent, ownHeaders };
}

function resolve(location: string, address: string): URL {
  const next = URL.canParse(location, address) ? new URL(location, address) : undefined;
  if (next === undefined || !['http:', 'https:'].includes(next.protocol))
    throw failure('it redirects to an invalid URL');
  next.username = '';
  next.password = '';
  return next;
}

/** Returns the error, with the cause that people see. */
function failure(why: string): TypeError {
  return new TypeError('fetch failed', { cause: new Error(why) });
}
