/** What servers of a cluster ask of the one that owns the list of databases, and that no client can: requests that only links carry. */
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { readOnlyError } from '../../storage/paging/page-errors.ts';

const NOTES = '/_settee/notes/';
const UPDATES = '/_settee/updates';
/** Changes are reported together. */
const REPORT_MS = 20;

type ToOwner = (request: PlainRequest) => MaybePromise<PlainResponse> | undefined;

/** See `Registry.keepNote`. */
export function keepNoteBy(owner: () => Handle | undefined): Registry['keepNote'] {
  return async (name, text) => {
    const url = `${NOTES}${encodeURIComponent(name)}`;
    const method = text === undefined ? 'DELETE' : 'PUT';
    const response = await owner()?.({ method, url, headers: {}, body: text ?? null });
    if (response?.status !== 200) throw readOnlyError('the list of databases');
  };
}

/** Tells the owner of the list which databases were changed here, for `_db_updates` and for feeds that wait there. What is lost with a link is not repeated. */
export class UpdateReports {
  readonly #send: ToOwner;
  readonly #names = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: ToOwner) {
    this.#send = send;
  }

  add(name: string): void {
    this.#names.add(name);
    this.#timer ??= setTimeout(() => this.#report(), REPORT_MS);
  }

  #report(): void {
    this.#timer = undefined;
    const body = JSON.stringify([...this.#names]);
    this.#names.clear();
    void Promise.resolve(this.#send({ method: 'POST', url: UPDATES, headers: {}, body })).catch(() => undefined);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/** Answers such requests, and passes on all others. */
export function answerInternally(registry: () => Registry | undefined, next: Handle): Handle {
  return (request) => {
    const { hops = 0, url } = request;
    if (hops === 0 || !(url.startsWith(NOTES) || url === UPDATES)) return next(request);
    return answer(registry(), request);
  };
}

async function answer(registry: Registry | undefined, { method, url, body }: PlainRequest): Promise<PlainResponse> {
  if (registry === undefined) return respond(503);
  const text = typeof body === 'string' ? body : body instanceof Uint8Array ? Buffer.from(body).toString() : undefined;
  if (url === UPDATES) {
    const names: unknown = JSON.parse(text ?? '[]');
    if (Array.isArray(names)) for (const name of names) registry.noteUpdate?.(String(name));
    return respond(200);
  }
  await registry.keepNote(decodeURIComponent(url.slice(NOTES.length)), method === 'DELETE' ? undefined : text);
  return respond(200);
}

function respond(status: number): PlainResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: '{}\n' };
}
