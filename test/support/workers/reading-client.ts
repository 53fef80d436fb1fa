import { Agent, type IncomingMessage, request } from 'node:http';

/** What a client knows of one document: the number that it holds, which only grows. */
interface Known {
  rev: string | undefined;
  /** The highest number that was acknowledged, or read. */
  least: number;
}

export interface Answer {
  /** 0 if the connection broke. */
  readonly status: number;
  readonly text: string;
}

/** Sends a request on a connection of that agent; a broken one is an answer with the status 0. */
export function ask(agent: Agent, method: string, url: string, body?: string): Promise<Answer> {
  return new Promise((resolve) => {
    const broken = () => resolve({ status: 0, text: '' });
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request(url, { agent, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, text }));
      response.on('error', broken);
    });
    sent.on('error', broken);
    sent.end(body);
  });
}

/**
 * A client of a server of several processes: writes growing numbers into its own documents, and reads those of all clients, over connections
 * that lead to any process. Whatever was acknowledged to it, or shown to it, it must be shown from then on. What is not so is in `faults`.
 */
export class ReadingClient {
  readonly faults: string[] = [];
  acknowledged = 0;
  reads = 0;
  readonly #name: string;
  readonly #base: string;
  readonly #known = new Map<string, Known>();
  #updateSeq = 0;
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  /** `base`: of the database, with a slash at its end. */
  constructor(name: string, base: string) {
    this.#name = name;
    this.#base = base;
  }

  /** Leaves the connection, so that the next request may reach another process. */
  changeConnection(): void {
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 });
  }

  async write(id: string): Promise<void> {
    const known = this.#of(id);
    const number = known.least + 1;
    const body = JSON.stringify({ number, by: this.#name, ...(known.rev === undefined ? {} : { _rev: known.rev }) });
    const { status, text } = await ask(this.#agent, 'PUT', `${this.#base}${id}`, body);
    if (status === 201 || status === 202) {
      known.rev = (JSON.parse(text) as { rev: string }).rev;
      known.least = number;
      this.acknowledged += 1;
    } else if (status === 409 || status === 0 || status === 503) {
      // It is unknown whether an earlier attempt was carried out.
      await this.read(id);
    } else this.faults.push(`PUT ${id}: ${status} ${text}`);
  }

  /** Reads a document of any client. */
  async read(id: string): Promise<void> {
    const known = this.#of(id);
    const { least } = known;
    const { status, text } = await ask(this.#agent, 'GET', `${this.#base}${id}`);
    if (status === 0 || status === 503) return;
    this.reads += 1;
    if (status === 404) {
      if (least > 0) this.faults.push(`${this.#name}: ${id} is missing, which had ${least}`);
      return;
    }
    if (status !== 200) {
      this.faults.push(`GET ${id}: ${status} ${text}`);
      return;
    }
    const { number, _rev: rev } = JSON.parse(text) as { number: number; _rev: string };
    if (number < least) this.faults.push(`${this.#name}: ${id} has ${number}, after ${least}`);
    known.rev = rev;
    known.least = Math.max(known.least, number);
  }

  async readList(): Promise<void> {
    const least = new Map([...this.#known].map(([id, known]) => [id, known.least]));
    const { status, text } = await ask(this.#agent, 'GET', `${this.#base}_all_docs?include_docs=true&update_seq=true`);
    if (status !== 200) return;
    this.reads += 1;
    const { rows, update_seq: seq } = JSON.parse(text) as {
      rows: { id: string; doc: { number: number } }[];
      update_seq: number | string;
    };
    const found = new Map(rows.map(({ id, doc }) => [id, doc.number]));
    for (const [id, number] of least) {
      const now = found.get(id) ?? 0;
      if (now < number) this.faults.push(`${this.#name}: ${id} has ${now} in the list, after ${number}`);
    }
    const updateSeq = Number.parseInt(`${seq}`, 10);
    if (updateSeq < this.#updateSeq)
      this.faults.push(`${this.#name}: update_seq ${updateSeq} after ${this.#updateSeq}`);
    this.#updateSeq = updateSeq;
  }

  /** Fails for what the documents lack at the end. */
  async check(): Promise<void> {
    await this.readList();
    for (const id of this.#known.keys()) await this.read(id);
  }

  close(): void {
    this.#agent.destroy();
  }

  #of(id: string): Known {
    const known = this.#known.get(id) ?? { rev: undefined, least: 0 };
    this.#known.set(id, known);
    return known;
  }
}

/** Follows a database by a continuous feed, and opens it again where it ended. */
export class FeedReader {
  readonly faults: string[] = [];
  /** The latest revision that was told of each document. */
  readonly latest = new Map<string, string>();
  since = 0;
  #isOver = false;
  #response: IncomingMessage | undefined;

  async run(base: string): Promise<void> {
    while (!this.#isOver) {
      await this.#readOnce(`${base}_changes?feed=continuous&heartbeat=200&since=${this.since}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  end(): void {
    this.#isOver = true;
    this.#response?.destroy();
  }

  #readOnce(url: string): Promise<void> {
    return new Promise((resolve) => {
      const end = () => resolve();
      const sent = request(url, { agent: false }, (response) => {
        this.#response = response;
        let rest = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() ?? '';
          if (response.statusCode === 200) for (const line of lines) if (line !== '') this.#take(line);
        });
        response.on('close', end);
        response.on('error', end);
        if (this.#isOver) response.destroy();
      });
      sent.on('error', end);
      sent.end();
    });
  }

  #take(line: string): void {
    const { seq, id, changes } = JSON.parse(line) as {
      seq?: number | string;
      id?: string;
      changes?: { rev: string }[];
    };
    if (seq === undefined || id === undefined) return;
    const number = Number.parseInt(`${seq}`, 10);
    if (number <= this.since) this.faults.push(`the feed told ${number} after ${this.since}`);
    this.since = number;
    this.latest.set(id, changes?.[0]?.rev ?? '');
  }
}
