/**
 * The continuous replications that requests have started, as the host keeps them after this core has ended: in a browser the core of another tab
 * continues them when their tab is closed. Requests are kept unchanged, so that any version that reads them
 * understands them.
 */
import { isObject, type JsonObject } from '../../base/json/objects.ts';
import type { RequestStore } from '../contract.ts';
import type { RequestOrigin } from './replication-request.ts';

export interface KeptRequest {
  readonly body: JsonObject;
  readonly origin: RequestOrigin;
}

export class KeptRequests {
  readonly #store: RequestStore | undefined;
  /** By their text. The value is the job's id, once there is one. */
  readonly #requests = new Map<string, string | undefined>();

  constructor(store: RequestStore | undefined) {
    this.#store = store;
  }

  /** Keeps a request in place of an earlier one for the same job. */
  keep(request: KeptRequest, jobId: string): void {
    const text = JSON.stringify(request);
    if (this.#requests.get(text) === jobId) return;
    this.#remove(jobId);
    this.#requests.set(text, jobId);
    this.#save();
  }

  forget(jobId: string): void {
    if (this.#remove(jobId)) this.#save();
  }

  /** Drops a request that `load` returned and that has no job. */
  drop(request: KeptRequest): void {
    if (this.#requests.delete(JSON.stringify(request))) this.#save();
  }

  /** Takes over what was saved elsewhere. Returns all requests that have no job here. */
  load(): readonly KeptRequest[] {
    for (const request of parseRequests(this.#store?.text ?? '')) {
      const text = JSON.stringify(request);
      if (!this.#requests.has(text)) this.#requests.set(text, undefined);
    }
    const left = [...this.#requests].filter(([, jobId]) => jobId === undefined);
    return left.flatMap(([text]) => parseRequests(`[${text}]`));
  }

  #remove(jobId: string): boolean {
    const known = [...this.#requests].find(([, id]) => id === jobId);
    return known !== undefined && this.#requests.delete(known[0]);
  }

  #save(): void {
    this.#store?.save(`[${[...this.#requests.keys()].join(',')}]`);
  }
}

/** Skips what is not a request. */
function parseRequests(text: string): readonly KeptRequest[] {
  const list: unknown = text === '' ? [] : JSON.parse(text);
  return Array.isArray(list) ? list.filter(isKeptRequest) : [];
}

/** Only `save` makes these: `RequestOrigin` is plain data. */
function isKeptRequest(value: unknown): value is KeptRequest {
  return isObject(value) && isObject(value['body']) && isObject(value['origin']);
}
