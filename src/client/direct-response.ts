/** A `Response` that knows its address, as those that come from a network do. */
export class DirectResponse extends Response {
  readonly #url: string;
  readonly #redirected: boolean;

  /** `method` is that of the request: HEAD, like the statuses that never have one (Fetch, 2.2.3), gets no body. */
  constructor(
    method: string,
    url: string,
    status: number,
    headers: HeadersInit,
    body: BodyInit | null,
    redirected: boolean,
  ) {
    const isEmpty = method === 'HEAD' || status === 204 || status === 205 || status === 304;
    super(isEmpty ? null : body, { status, headers });
    this.#url = url;
    this.#redirected = redirected;
  }

  override get url(): string {
    return this.#url;
  }

  override get redirected(): boolean {
    return this.#redirected;
  }
}
