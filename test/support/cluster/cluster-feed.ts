import { request } from 'node:http';
import type { SeededRandom } from '../seeded-random.ts';
import type { Servers } from './cluster-client.ts';
import type { KnownDocuments } from './known-documents.ts';

/** A server that is paused sends nothing: then another one is asked. */
const MAX_SILENCE_MS = 4_000;
const HEARTBEAT_MS = 500;

/** Follows a database by continuous feeds, each of which goes on at another server where the former one has ended. */
export class ClusterFeed {
  readonly faults: string[] = [];
  /** The last revision that was told of each document. */
  readonly latest = new Map<string, string>();
  opened = 0;
  readonly #servers: Servers;
  readonly #database: KnownDocuments;
  readonly #random: SeededRandom;
  #since: number | string = 0;
  #isOver = false;
  #stop: () => void = () => undefined;

  constructor(servers: Servers, database: KnownDocuments, random: SeededRandom) {
    this.#servers = servers;
    this.#database = database;
    this.#random = random;
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const server = this.#random.oneOf(this.#servers.urls) ?? '';
      const since = encodeURIComponent(this.#since);
      const query = `feed=continuous&heartbeat=${HEARTBEAT_MS}&since=${since}`;
      await this.#readOnce(`${server}${this.#database.name}/_changes?${query}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  end(): void {
    this.#isOver = true;
    this.#stop();
  }

  #readOnce(url: string): Promise<void> {
    return new Promise((resolve) => {
      const sent = request(url, { agent: false });
      let silence: NodeJS.Timeout | undefined;
      let isOver = false;
      const end = () => {
        isOver = true;
        clearTimeout(silence);
        clearTimeout(leaving);
        sent.destroy();
        resolve();
      };
      const leaving = setTimeout(end, this.#random.between(500, 20_000));
      const listen = () => {
        clearTimeout(silence);
        silence = setTimeout(end, MAX_SILENCE_MS);
      };
      this.#stop = end;
      listen();
      sent.on('response', (response) => {
        let rest = '';
        if (response.statusCode === 200) this.opened += 1;
        response.setEncoding('utf8').on('data', (chunk: string) => {
          if (isOver) return;
          listen();
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() ?? '';
          if (response.statusCode === 200) for (const line of lines) if (line !== '') this.#take(line, url);
        });
        response.on('close', end);
        response.on('error', end);
      });
      sent.on('error', end);
      sent.end();
      if (this.#isOver) end();
    });
  }

  #take(line: string, url: string): void {
    const { seq, id, changes, deleted } = JSON.parse(line) as {
      seq?: number | string;
      id?: string;
      changes?: { rev: string }[];
      deleted?: boolean;
    };
    if (seq === undefined || id === undefined) return;
    const [number, before] = [Number.parseInt(`${seq}`, 10), Number.parseInt(`${this.#since}`, 10)];
    if (number <= before) this.faults.push(`the feed told ${seq} after ${this.#since}, at ${url}`);
    this.#since = seq;
    const rev = changes?.[0]?.rev ?? '';
    if (!id.startsWith('doc-')) return;
    this.latest.set(id, rev);
    this.#database.tell(number, id, rev, url);
    this.#database
      .of(id)
      .see({ rev, isDeleted: deleted === true }, { generation: 0, rev: undefined, isDeleted: true }, url);
  }
}
