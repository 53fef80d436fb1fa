import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../seeded-random.ts';
import { askCluster, type ClusterAnswer, isKnownNotDone } from './answers.ts';
import type { Servers } from './cluster-client.ts';

const NAME = 'short-lived';

/** The one client of a database that it creates and deletes again and again, at any server. */
export class ShortLived {
  readonly faults: string[] = [];
  created = 0;
  readonly #servers: Servers;
  readonly #random: SeededRandom;
  /** Undefined if that is unknown. */
  #exists: boolean | undefined = false;
  /** Which of them it is, counted from 1. */
  #number = 0;
  /** Documents of the present one whose writes were acknowledged. */
  readonly #ids = new Set<string>();
  #documents = 0;

  constructor(servers: Servers, random: SeededRandom) {
    this.#servers = servers;
    this.#random = random;
  }

  async live(life: { readonly isOver: boolean }): Promise<void> {
    while (!life.isOver) {
      const kind = this.#random.between(0, 99);
      if (this.#exists === undefined) await this.#look();
      else if (!this.#exists) await this.#create();
      else if (kind < 8) await this.#delete();
      else if (kind < 60) await this.#write();
      else await this.#list();
      await delay(20);
    }
  }

  async #ask(method: string, path: string, body?: unknown): Promise<ClusterAnswer> {
    const server = this.#random.oneOf(this.#servers.urls) ?? '';
    const answer = await askCluster({ method, url: `${server}${NAME}${path}`, body, waitMs: 40_000 });
    const { status } = answer;
    if (status < 200 || status >= 300) this.#servers.onFailure(answer);
    if (![0, 200, 201, 202, 307, 404, 409, 412, 503].includes(status)) this.#fail('failed', answer);
    return answer;
  }

  /** An unknown write may be carried out later, at a server that was paused: it is not looked at again after the next one. */
  async #look(): Promise<void> {
    const { status, text } = await this.#ask('GET', '');
    if (status === 200) this.#exists = true;
    else if (status === 404 && /exist|no_db_file/.test(text)) this.#exists = false;
    if (this.#exists === false) this.#ids.clear();
  }

  async #create(): Promise<void> {
    const answer = await this.#ask('PUT', '');
    if (answer.status === 412) this.#fail('exists already', answer);
    if (answer.status === 412 || answer.status === 201) {
      this.#exists = true;
      this.#number += 1;
      this.created += 1;
      this.#ids.clear();
    } else if (!isKnownNotDone(answer)) this.#exists = undefined;
  }

  async #delete(): Promise<void> {
    const answer = await this.#ask('DELETE', '');
    if (answer.status === 404) this.#fail('is gone', answer);
    if (answer.status === 200 || answer.status === 202 || answer.status === 404) this.#exists = false;
    else if (!isKnownNotDone(answer)) this.#exists = undefined;
  }

  async #write(): Promise<void> {
    this.#documents += 1;
    const id = `doc-${this.#documents}`;
    const answer = await this.#ask('PUT', `/${id}`, { number: this.#number });
    if (answer.status === 201) this.#ids.add(id);
    else if (answer.status === 404 || answer.status === 409) this.#fail(id, answer);
  }

  async #list(): Promise<void> {
    const answer = await this.#ask('GET', '/_all_docs?include_docs=true');
    if (answer.status === 404) this.#fail('is not there', answer);
    if (answer.status !== 200) return;
    const { rows } = JSON.parse(answer.text) as { rows: { id: string; doc: { number: number } | null }[] };
    const found = new Set(rows.map(({ id }) => id));
    for (const id of this.#ids) if (!found.has(id)) this.#fail(`lacks ${id}`, answer);
    for (const { id, doc } of rows)
      if (doc?.number !== this.#number) this.#fail(`has ${id} of number ${doc?.number} in ${this.#number}`, answer);
  }

  #fail(what: string, { method, url, status, text, sentAt }: ClusterAnswer): void {
    this.faults.push(
      `${NAME} ${what}: ${method} ${url} sent at ${Math.round(sentAt)}: ${status} ${text.slice(0, 300)}`,
    );
  }
}
