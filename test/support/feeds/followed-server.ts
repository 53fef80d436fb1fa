import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { BrokenOff, type FollowedFeed, type FollowedService } from './follower.ts';

/** A server that gets killed, followed over HTTP: each feed has a connection of its own. */
export class FollowedServer implements FollowedService {
  readonly #database: URL;

  constructor(database: URL) {
    this.#database = database;
  }

  async changes(query: string, body: string | undefined): Promise<FollowedFeed> {
    const outgoing = httpRequest(`${this.#database}/_changes?${query}`, {
      method: body === undefined ? 'GET' : 'POST',
      agent: false,
      headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
    });
    const incoming = await answerTo(outgoing, body);
    const chunks = incoming[Symbol.asyncIterator]();
    return {
      status: incoming.statusCode ?? 0,
      pull: async () => {
        const { done, value } = await chunks.next().catch(breakOff);
        return done === true ? undefined : value;
      },
      leave: async () => {
        outgoing.destroy();
      },
    };
  }
}

function answerTo(outgoing: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Also after the response has begun.
    outgoing.on('error', (cause) => reject(new BrokenOff('no answer', { cause })));
    outgoing.on('response', resolve);
    outgoing.end(body);
  });
}

function breakOff(cause: unknown): never {
  throw new BrokenOff('the answer broke off', { cause });
}
