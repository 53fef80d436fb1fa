/** Why the server beside this page is not used, as its responses tell. */

export type ServerReason =
  /** This device has no network. */
  | { readonly kind: 'offline' }
  /** Nothing answers at its address. */
  | { readonly kind: 'unreachable' }
  /** The page comes from a server of files, which knows no databases. */
  | { readonly kind: 'static' }
  /** It answers, and does not do what the page asks for. `reason`: its own sentence. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string };

/** How a proxy answers for a server that is away. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** What a response says about it; undefined: the server did what was asked. Reads the body, and rejects if that is cut off. */
async function reasonIn(answer: Response): Promise<ServerReason | undefined> {
  const { ok, status } = answer;
  const text = await answer.text();
  const said = readJson(text);
  if (said === undefined) {
    if (AWAY.has(status)) return { kind: 'unreachable' };
    if (status === 401 || status === 403) return { kind: 'refused', status, reason: text.trim() || `status ${status}` };
    return { kind: 'static' };
  }
  if (ok) return undefined;
  return { kind: 'refused', status, reason: String(said['reason'] ?? said['error'] ?? `status ${status}`) };
}

/** What it means that no response came at all. */
function reasonWithoutAnswer(): ServerReason {
  return navigator.onLine ? { kind: 'unreachable' } : { kind: 'offline' };
}

/**
 * Why a database of the server can't be used; undefined: it can, and was made if it was not there. `ask` sends a request to the database's path,
 * with this query. At a server with an admin only the admin may make it.
 */
export async function whyNotReached(
  name: string,
  ask: (query: string, init: RequestInit) => Promise<Response>,
): Promise<ServerReason | undefined> {
  try {
    const made = await ask('?if-missing=true', { method: 'PUT' });
    if (made.status !== 401) return await reasonIn(made);
    return await whyNotRead(name, ask);
  } catch {
    return reasonWithoutAnswer();
  }
}

/** The same, without making it. */
export async function whyNotRead(
  name: string,
  ask: (query: string, init: RequestInit) => Promise<Response>,
): Promise<ServerReason | undefined> {
  try {
    const answer = await ask('', {});
    if (answer.status !== 404) return await reasonIn(answer);
    const reason = await reasonIn(answer);
    if (reason?.kind !== 'refused') return reason;
    return { ...reason, status: 401, reason: `only its admin may make the database ${name} there` };
  } catch {
    return reasonWithoutAnswer();
  }
}

/** Whether the server may be there again at any moment. */
export function isAway(reason: ServerReason | undefined): boolean {
  if (reason?.kind === 'refused') return AWAY.has(reason.status);
  return reason?.kind === 'unreachable' || reason?.kind === 'offline';
}

/** In a sentence. `address`: of the server, if it is known. */
export function describeReason(reason: ServerReason, address: string | undefined): string {
  switch (reason.kind) {
    case 'offline':
      return 'This device has no network.';
    case 'unreachable':
      return `No server answers${address === undefined ? '' : ` at ${address}`}. Start it with npm start.`;
    case 'static':
      return 'This page is served as files, without a database server beside it. With npm start it has one.';
    case 'refused':
      return `The server refuses: ${reason.reason.replace(/\.?$/, '.')}`;
  }
}

function readJson(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
