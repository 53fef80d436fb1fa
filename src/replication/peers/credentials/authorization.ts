/** Adds the sender's credentials to requests to a peer. Nothing here is ever shown: neither in a log nor in an error. */

export interface SignedRequest {
  readonly method: string;
  /** The absolute URL, as sent. */
  readonly url: string;
}

export interface Authorization {
  /** Returns the headers for a request. */
  headersFor(request: SignedRequest): Promise<Readonly<Record<string, string>>>;
  /** Takes the cookies of a response. */
  takeCookies(cookies: readonly string[]): void;
  /** A request was answered with 401. Returns true if it is worth another attempt, with what `headersFor` returns from now on. */
  renew(): Promise<boolean>;
}

/** For peers that need only the headers that the replication names. */
export const anonymous: Authorization = {
  headersFor: async () => ({}),
  takeCookies: () => {},
  renew: async () => false,
};
