import type { PlainHeaders, PlainRequest } from '../../base/shared/message.ts';

/** A request in place of another: properties that are not given stay the same. Hosts may create some on demand, so it can't be spread. */
export class StandingRequest implements PlainRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: PlainRequest['body'];
  readonly peer: string | undefined;
  readonly user: PlainRequest['user'];
  readonly recheckUser: PlainRequest['recheckUser'];
  readonly scheme: PlainRequest['scheme'];
  readonly observed: PlainRequest['observed'];
  readonly #request: PlainRequest;

  constructor(request: PlainRequest, given: Partial<Pick<PlainRequest, 'url' | 'headers' | 'body'>>) {
    this.method = request.method;
    this.url = given.url ?? request.url;
    this.headers = given.headers ?? request.headers;
    this.body = given.body ?? request.body;
    this.peer = request.peer;
    this.user = request.user;
    this.recheckUser = request.recheckUser;
    this.scheme = request.scheme;
    this.observed = request.observed;
    this.#request = request;
  }

  /** Created on demand by some hosts. */
  get signal(): AbortSignal {
    return this.#request.signal ?? new AbortController().signal;
  }
}
