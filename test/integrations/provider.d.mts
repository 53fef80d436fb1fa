export class OpenIdProvider {
  /** `roles`: those of each client, by its name. */
  static start(roles: Readonly<Record<string, readonly string[]>>): Promise<OpenIdProvider>;
  readonly issuer: string;
  /** Starts with a new signing key, at the same address as before. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Logs a client in, and returns its access token for the audience. */
  token(name: string, audience: string): Promise<string>;
}
