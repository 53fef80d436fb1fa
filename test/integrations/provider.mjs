/** An OpenID provider on this machine, whose keys can be replaced, and which can be down. */
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

export class OpenIdProvider {
  #roles;
  #app;
  #server;
  #port = 0;
  #refreshTokens = [];
  renewals = 0;

  constructor(roles, app) {
    this.#roles = roles;
    this.#app = app;
  }

  static async start(roles, app) {
    const provider = new OpenIdProvider(roles, app);
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
    const provider = new Provider(this.issuer, configuration(this.#roles, key, this.#app));
    provider.on('refresh_token.saved', (token) => this.#refreshTokens.push(token));
    provider.on('grant.success', ({ oidc }) => {
      if (oidc.params.grant_type === 'refresh_token') this.renewals++;
    });
    const answer = provider.callback();
    this.#handle = (request, response) =>
      request.url.startsWith('/interaction/') ? logIn(provider, request, response) : answer(request, response);
  }

  async revokeRefreshTokens() {
    for (const token of this.#refreshTokens.splice(0)) await token.destroy();
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

/** The page on which users log in: they are known by their names. */
async function logIn(provider, request, response) {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(
      '<!doctype html><title>Provider</title><form method="post"><input name="user"><button>Log in</button></form>',
    );
    return;
  }
  let body = '';
  for await (const chunk of request) body += chunk;
  const form = new URLSearchParams(body);
  await provider.interactionFinished(request, response, { login: { accountId: form.get('user') } });
}

function configuration(roles, key, app = { origin: 'http://127.0.0.1', accessTokenTTL: 300 }) {
  return {
    jwks: { keys: [key] },
    clients: [
      ...Object.keys(roles).map((name) => ({
        client_id: name,
        client_secret: `secret of ${name}`,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
      })),
      {
        client_id: 'notes-app',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [`${app.origin}/`],
        post_logout_redirect_uris: [`${app.origin}/`],
      },
    ],
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    // Users need not consent: the app is of the same house.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid offline_access');
      grant.addResourceScope(oidc.params.resource, 'notes');
      await grant.save();
      return grant;
    },
    issueRefreshToken: () => true,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          scope: 'notes',
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: app.accessTokenTTL,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    // Where Keycloak has them.
    extraTokenClaims: (_context, { accountId, clientId }) => ({
      realm_access: { roles: roles[accountId ?? clientId] },
    }),
  };
}
