import { type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { pipeline } from 'node:stream';
import { NodeHost } from '../support/conformance/node-host.ts';
import type { Site } from './browser-session.ts';

/** Below this path of a site its pages reach the server, as with a reverse proxy in front of both. */
export const SERVER = '/server/';

/** What a browser adds that says which page asks. A proxy in front of the app and the server leaves these out: to the server all of it is one site. */
const FROM_PAGES = ['host', 'origin', 'referer', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'];

export interface ProxiedServer {
  /** Absolute, of the server as pages of the site see it, with a slash at its end. */
  readonly url: string;
  /** Of the requests that came through, their methods and paths with queries. */
  readonly seen: readonly string[];
  /** Forgets what it has seen. */
  forget(): void;
  /** Requests that are being answered. */
  readonly open: number;
  /**
   * From now on requests whose path ends with `suffix` wait when `count` of them have come through; what waits already goes on first. Keeps at work
   * what would else be done before anybody looks.
   */
  allow(suffix: string, count: number): void;
  /** From now on connections are closed without an answer, and those that are open are broken off; or not any more. */
  breakDown(isDown: boolean): void;
  /** Asks the server itself. Gives the JSON of its answer. */
  ask(method: string, path: string, json?: unknown): Promise<unknown>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** For pages of other origins: what a server has to answer so that they may ask it anything (CORS). */
const FOR_ALL: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, PUT, POST, DELETE, COPY',
  'access-control-allow-headers': 'accept, content-type, content-encoding, authorization, x-couch-full-commit',
  'access-control-max-age': '600',
};

/** A running Node server, below a path of the site. Pages of other sites may ask it, too. */
export async function startProxiedServer(site: Site): Promise<ProxiedServer> {
  const host = await NodeHost.start();
  const seen: string[] = [];
  const open = new Set<ServerResponse>();
  const gate = new Gate();
  let isDown = false;
  site.server.intercept((request, response) => {
    if (request.url?.startsWith(SERVER) !== true) return false;
    if (request.method === 'OPTIONS') {
      response.writeHead(204, FOR_ALL).end();
      return true;
    }
    if (isDown) {
      response.destroy();
      return true;
    }
    seen.push(`${request.method} ${request.url.slice(SERVER.length - 1)}`);
    open.add(response);
    response.on('close', () => open.delete(response));
    gate.enter(request.url, response, () => passOn(host.baseUrl, request, response));
    return true;
  });
  return {
    url: `${site.server.origin}${SERVER}`,
    seen,
    forget: () => {
      seen.length = 0;
    },
    get open() {
      return open.size;
    },
    allow: (suffix, count) => gate.allow(suffix, count),
    breakDown: (down) => {
      isDown = down;
      if (down) for (const response of open) response.destroy();
    },
    ask: async (method, path, json) => {
      const body = json === undefined ? null : JSON.stringify(json);
      const headers = { 'content-type': 'application/json', accept: 'application/json' };
      const { bytes } = await host.send({ method, path, headers, body });
      return JSON.parse(Buffer.from(bytes).toString());
    },
    restart: () => host.restart(),
    close: () => host.close(),
  };
}

class Gate {
  #suffix: string | undefined;
  #left = 0;
  #waiting: { readonly response: ServerResponse; readonly goOn: () => void }[] = [];

  enter(url: string, response: ServerResponse, goOn: () => void): void {
    const [path = ''] = url.split('?');
    if (this.#suffix === undefined || !path.endsWith(this.#suffix)) goOn();
    else {
      this.#waiting.push({ response, goOn });
      this.#letGo();
    }
  }

  allow(suffix: string, count: number): void {
    this.#suffix = suffix;
    this.#left = count;
    this.#letGo();
  }

  #letGo(): void {
    // Who has gone away meanwhile uses nothing up.
    this.#waiting = this.#waiting.filter(({ response }) => !response.destroyed);
    for (const { goOn } of this.#waiting.splice(0, this.#left)) {
      this.#left--;
      goOn();
    }
  }
}

function passOn(server: string, request: IncomingMessage, response: ServerResponse): void {
  const { hostname, port } = new URL(server);
  const { method, url = '' } = request;
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !FROM_PAGES.includes(name)));
  const path = url.slice(SERVER.length - 1);
  const outgoing = send({ hostname, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...FOR_ALL });
    // Pages wait for the head of a feed that has nothing to tell yet.
    response.flushHeaders();
    pipeline(answer, response, () => undefined);
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => outgoing.destroy());
  request.pipe(outgoing);
}
