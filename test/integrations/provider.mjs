/** An OpenID provider on this machine, whose keys can be replaced, and which can be down. */
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

export class OpenIdProvider {
  #roles;
  #server;
  #port = 0;

  constructor(roles) {
    this.#roles = roles;
  }

  static async start(roles) {
    const provider = new OpenIdProvider(roles);
    await provider.start();
    return provider;
  }

  get issuer() {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts with a new signing key, at the same address as before. */
  async start() {
    const server = createServer((request, response) => this.#handle(request, response));
    await new Promise((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = server.address().port;
    this.#server = server;
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: crypto.randomUUID() };
    this.#handle = new Provider(this.issuer, configuration(this.#roles, key)).callback();
  }

  #handle = (_request, response) => response.writeHead(503).end();

  async stop() {
    const ended = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await ended;
  }

  /** Logs a client in, and returns its access token for the audience. */
  async token(name, audience) {
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${name}:secret of ${name}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience, scope: 'notes' }),
    });
    const answer = await response.json();
    if (response.status !== 200) throw new Error(JSON.stringify(answer));
    return answer.access_token;
  }
}

function configuration(roles, key) {
  return {
    jwks: { keys: [key] },
    clients: Object.keys(roles).map((name) => ({
      client_id: name,
      client_secret: `secret of ${name}`,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    })),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          scope: 'notes',
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    // Where Keycloak has them.
    extraTokenClaims: (_context, { clientId }) => ({ realm_access: { roles: roles[clientId] } }),
  };
}
