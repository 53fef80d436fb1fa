/** How requests to a peer say who sends them. Nothing here is ever shown: neither in a log nor in an error. */

export interface SignedRequest {
  readonly method: string;
  /** Absolute, as it is sent. */
  readonly url: string;
}

export interface Authorization {
  /** The headers that a request is to have. */
  headersFor(request: SignedRequest): Promise<Readonly<Record<string, string>>>;
  /** Cookies that an answer brought. */
  takeCookies(cookies: readonly string[]): void;
  /** A request was answered with 401. True where it is worth another attempt, with what `headersFor` gives from now on. */
  renew(): Promise<boolean>;
}

/** For peers that need no more than the headers that the replication names. */
export const anonymous: Authorization = {
  headersFor: async () => ({}),
  takeCookies: () => {},
  renew: async () => false,
};
