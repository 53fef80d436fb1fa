/** What happens to the servers of a cluster while clients use them. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Cluster } from '../postgres/cluster.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { askCluster, type ClusterAnswer, isKnownNotDone } from './answers.ts';
import type { Servers } from './cluster-client.ts';
import type { ClusterServer } from './cluster-server.ts';

export const KINDS = [
  ...['kill', 'kill', 'pause long', 'pause short', 'leave', 'leave', 'fourth server'],
  ...['end connections', 'cut links', 'cut storage', 'pin'],
] as const;
export type Kind = (typeof KINDS)[number];

export interface DisturbancesOptions {
  readonly postgres: Cluster;
  /** All but the last one are always there. */
  readonly servers: readonly ClusterServer[];
  readonly databases: readonly string[];
  readonly leaseMs: number;
  readonly random: SeededRandom;
  readonly log: (text: string) => void;
}

export class Disturbances implements Servers {
  readonly faults: string[] = [];
  /** How often a response had that beginning. */
  readonly failures = new Map<string, number>();
  /** Failures while servers left in order, and databases were moved. */
  readonly gentle = { refused: 0, unsent: 0 };
  readonly #options: DisturbancesOptions;
  readonly #busy = new Set<ClusterServer>();
  /** How many were begun. */
  #begun = 0;
  #recent: ClusterAnswer[] = [];

  constructor(options: DisturbancesOptions) {
    this.#options = options;
  }

  get urls(): readonly string[] {
    const urls = this.#options.servers.filter(({ isRunning }) => isRunning).map(({ url }) => url);
    return urls.filter((url) => url !== '');
  }

  onFailure(answer: ClusterAnswer): void {
    if (answer.status === 404 || answer.status === 409) return;
    const what = `${answer.status} ${answer.text.trim().slice(0, 200)}`;
    this.failures.set(what, (this.failures.get(what) ?? 0) + 1);
    this.#recent.push(answer);
    if (this.#recent.length > 20_000) this.#recent.shift();
  }

  async disturb(kind: Kind): Promise<void> {
    const { random, servers, log } = this.#options;
    const server = random.oneOf(servers.slice(0, -1).filter((one) => !this.#busy.has(one)));
    if (server === undefined) return;
    this.#busy.add(server);
    this.#begun += 1;
    log(`${kind}: ${server.name} at ${server.url}`);
    await this.#disturb(kind, server);
    log(`${kind}: ${server.name} is over`);
    this.#busy.delete(server);
  }

  async #disturb(kind: Kind, server: ClusterServer): Promise<void> {
    const { random, leaseMs } = this.#options;
    if (kind === 'kill') await this.#kill(server);
    else if (kind === 'leave') await this.#gently(() => this.#leave(server), server.url);
    else if (kind === 'fourth server') await this.#joinOrLeave();
    else if (kind === 'end connections') await this.#endConnections();
    else if (kind === 'pin') await this.#gently(() => this.#pin());
    else if (kind === 'pause long') await this.#pause(server, random.between(leaseMs, leaseMs * 2.5));
    else if (kind === 'pause short') await this.#pause(server, random.between(leaseMs * 0.2, leaseMs * 0.8));
    else if (kind === 'cut links') await this.#cutLinks(server);
    else await this.#cutStorage(server);
  }

  async #kill(server: ClusterServer): Promise<void> {
    const { random, leaseMs } = this.#options;
    await server.kill();
    // Sometimes it is there again before the others have missed it.
    await delay(random.chance(50) ? random.between(0, 300) : random.between(leaseMs * 0.5, leaseMs * 2));
    await server.start();
  }

  /** Something planned: no request fails whose outcome is not known, if nothing else happens at the same time. `left`: where connections may break. */
  async #gently(move: () => Promise<void>, left?: string): Promise<void> {
    const isAlone = this.#busy.size === 1;
    const begun = this.#begun;
    if (isAlone) await this.#whenQuiet();
    const since = performance.now();
    await move();
    await delay(this.#options.random.between(100, this.#options.leaseMs * 0.5));
    if (!isAlone || this.#begun !== begun) return;
    for (const answer of this.#recent.filter(({ endedAt }) => endedAt > since)) this.#judge(answer, since, left);
  }

  #judge(answer: ClusterAnswer, since: number, left: string | undefined): void {
    const { method, url, status, text, sentAt, endedAt } = answer;
    const isThere = left !== undefined && url.startsWith(left);
    // A connection that the operating system had accepted, and the server had not, is reset.
    if (answer.isUnsent || (isThere && status === 0)) this.gentle.unsent += 1;
    else if (isKnownNotDone(answer)) this.gentle.refused += 1;
    else if (!text.startsWith('no answer in')) {
      const times = `${Math.round(sentAt)} to ${Math.round(endedAt)}`;
      this.faults.push(`planned at ${Math.round(since)}: ${method} ${url} ${times}: ${status} ${text}`);
    }
  }

  async #leave(server: ClusterServer): Promise<void> {
    const { random, leaseMs } = this.#options;
    const code = await server.leave();
    if (code !== 0) this.faults.push(`${server.name} ended with ${code}`);
    await delay(random.between(100, leaseMs * 0.5));
    await server.start();
  }

  /** Each server answers for what it owns, and reaches the others. */
  async #whenQuiet(): Promise<void> {
    const { databases } = this.#options;
    const isQuiet = async () => {
      for (const url of this.urls)
        for (const name of databases) {
          const asked = { method: 'PUT', url: `${url}${name}/_local/quiet`, body: {}, waitMs: 5_000 };
          const { status } = await askCluster(asked);
          if (status !== 201 && status !== 409) return false;
        }
      return true;
    };
    const until = performance.now() + 60_000;
    while (!(await isQuiet())) {
      if (performance.now() > until) {
        this.faults.push('the servers did not answer for a minute');
        return;
      }
      await delay(200);
    }
  }

  async settle(): Promise<void> {
    await this.#whenQuiet();
  }

  async #joinOrLeave(): Promise<void> {
    const { servers } = this.#options;
    const fourth = servers.at(-1);
    if (fourth === undefined) return;
    if (fourth.isRunning) await fourth.leave();
    else await fourth.start();
  }

  async #pause(server: ClusterServer, ms: number): Promise<void> {
    server.pause();
    await delay(ms);
    server.wake();
  }

  async #endConnections(): Promise<void> {
    const { postgres, random } = this.#options;
    const client = new pg.Client({ connectionString: postgres.url() });
    client.on('error', () => undefined);
    await client.connect();
    const share = random.oneOf([0.2, 0.6, 1]);
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() AND random() <= $1',
      [share],
    );
    await client.end();
  }

  async #cutLinks(server: ClusterServer): Promise<void> {
    const { random, leaseMs } = this.#options;
    if (random.chance(40)) {
      server.links.resetAll();
      return;
    }
    if (random.chance(50)) {
      server.links.isSilent = true;
      await delay(random.between(1_000, leaseMs * 3));
      server.links.isSilent = false;
      server.links.resetAll();
      return;
    }
    const port = await server.links.refuse();
    await delay(random.between(500, leaseMs * 2));
    await server.links.listen(port);
  }

  async #cutStorage(server: ClusterServer): Promise<void> {
    const { random, leaseMs } = this.#options;
    server.storage.isDown = true;
    await delay(random.between(leaseMs * 0.2, leaseMs * 2));
    server.storage.isDown = false;
  }

  async #pin(): Promise<void> {
    const { random, servers, databases, log } = this.#options;
    const [database, server, url] = [random.oneOf(databases), random.oneOf(servers), random.oneOf(this.urls)];
    const setting = `${url}_node/_local/_config/database_owners/${database}`;
    const answer = random.chance(70)
      ? await askCluster({ method: 'PUT', url: setting, body: server?.owner, waitMs: 20_000 })
      : await askCluster({ method: 'DELETE', url: setting, waitMs: 20_000 });
    log(`${answer.method} ${setting}: ${answer.status} after ${Math.round(answer.endedAt - answer.sentAt)} ms`);
    if (![200, 404, 503, 0, 307].includes(answer.status))
      this.faults.push(`${setting}: ${answer.status} ${answer.text}`);
  }
}
