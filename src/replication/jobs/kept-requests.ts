/**
 * The continuous replications that requests have asked for, as the host keeps them beyond the end of this core: in a browser another tab's core
 * goes on with them when the tab is closed whose core has them. Requests are kept as they came, so that whichever version reads them
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
  /** By their text. The id of the job, as soon as there is one. */
  readonly #requests = new Map<string, string | undefined>();

  constructor(store: RequestStore | undefined) {
    this.#store = store;
  }

  /** In the place of an earlier one for the same job. */
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

  /** Of one that `load` gave and that has no job. */
  drop(request: KeptRequest): void {
    if (this.#requests.delete(JSON.stringify(request))) this.#save();
  }

  /** Takes over what was saved elsewhere. Gives all that have no job here. */
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

/** What is no request is passed over. */
function parseRequests(text: string): readonly KeptRequest[] {
  const list: unknown = text === '' ? [] : JSON.parse(text);
  return Array.isArray(list) ? list.filter(isKeptRequest) : [];
}

/** Only `save` makes these: `RequestOrigin` is plain data. */
function isKeptRequest(value: unknown): value is KeptRequest {
  return isObject(value) && isObject(value['body']) && isObject(value['origin']);
}
