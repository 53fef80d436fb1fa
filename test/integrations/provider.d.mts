/** A page whose users log in at the provider: its client is `notes-app`. */
export interface ProviderApp {
  readonly origin: string;
  /** How long its tokens last, in seconds. */
  readonly accessTokenTTL: number;
}

export class OpenIdProvider {
  /** `roles`: those of each user and client, by its name. */
  static start(roles: Readonly<Record<string, readonly string[]>>, app?: ProviderApp): Promise<OpenIdProvider>;
  readonly issuer: string;
  /** How many times a refresh token was exchanged. */
  readonly renewals: number;
  /** Starts with a new signing key, at the same address as before. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Logs a client in, and returns its access token for the audience. */
  token(name: string, audience: string): Promise<string>;
  /** From now on users have to log in again when their tokens have expired. */
  revokeRefreshTokens(): Promise<void>;
}
