/**
 * Web Locks for Node, which has none: one `FakeLocks` is an origin's table of locks, and each of its clients a tab, a worker or a
 * service worker. Follows the Web Locks specification in what is granted when: requests for one name in their order, shared ones
 * together, `ifAvailable`, `steal`, `signal`. Grants come in microtasks, so they need no timers.
 */

interface Request {
  readonly name: string;
  readonly mode: LockMode;
  readonly clientId: string;
  grant(lock: Lock): void;
  /** Rejects what `request` returned; whatever the callback does then has no effect on the lock. */
  fail(reason: unknown): void;
}

/** What one client sees as `navigator.locks`. */
export interface FakeLockClient extends LockManager {
  readonly clientId: string;
  /** As if the client's process were killed: its locks are free, its requests gone, and none of its promises ever settles. */
  kill(): void;
}

export class FakeLocks {
  readonly #held: Request[] = [];
  readonly #pending: Request[] = [];
  #clients = 0;

  client(clientId = `client-${++this.#clients}`): FakeLockClient {
    return new Client(this, clientId);
  }

  snapshot(): LockManagerSnapshot {
    const info = ({ name, mode, clientId }: Request): LockInfo => ({ name, mode, clientId });
    return { held: this.#held.map(info), pending: this.#pending.map(info) };
  }

  ask(request: Request, steal: boolean): void {
    if (steal) this.#steal(request);
    else this.#pending.push(request);
    this.#grantDue();
  }

  isFree(request: Request): boolean {
    const before = [...this.#held, ...this.#pending].filter(({ name }) => name === request.name);
    return before.every(({ mode }) => mode === 'shared' && request.mode === 'shared');
  }

  /** Removes a waiting request; returns false if it was already granted. */
  withdraw(request: Request): boolean {
    const isPending = remove(this.#pending, request);
    this.#grantDue();
    return isPending;
  }

  release(request: Request): void {
    remove(this.#held, request);
    this.#grantDue();
  }

  killClient(clientId: string): void {
    const others = (request: Request): boolean => request.clientId !== clientId;
    this.#held.splice(0, this.#held.length, ...this.#held.filter(others));
    this.#pending.splice(0, this.#pending.length, ...this.#pending.filter(others));
    this.#grantDue();
  }

  #steal(request: Request): void {
    for (const held of this.#held.filter(({ name }) => name === request.name)) {
      remove(this.#held, held);
      held.fail(new DOMException('The lock was stolen', 'AbortError'));
    }
    this.#hold(request);
  }

  #hold(request: Request): void {
    this.#held.push(request);
    request.grant({ name: request.name, mode: request.mode });
  }

  #grantDue(): void {
    const blocked = new Set<string>();
    for (const request of [...this.#pending]) {
      const held = this.#held.filter(({ name }) => name === request.name);
      const isDue = held.every(({ mode }) => mode === 'shared' && request.mode === 'shared');
      if (!isDue || blocked.has(request.name)) {
        blocked.add(request.name);
        continue;
      }
      remove(this.#pending, request);
      this.#hold(request);
    }
  }
}

class Client implements FakeLockClient {
  readonly clientId: string;
  readonly #table: FakeLocks;
  #isDead = false;

  constructor(table: FakeLocks, clientId: string) {
    this.#table = table;
    this.clientId = clientId;
  }

  async query(): Promise<LockManagerSnapshot> {
    return this.#table.snapshot();
  }

  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  request<T>(name: string, options: LockOptions, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  request<T>(
    name: string,
    options: LockOptions | LockGrantedCallback<T>,
    callback?: LockGrantedCallback<T>,
  ): Promise<Awaited<T>> {
    if (typeof options === 'function') return this.#request(name, {}, options);
    if (callback === undefined) return Promise.reject(new TypeError('A callback is needed'));
    return this.#request(name, options, callback);
  }

  kill(): void {
    this.#isDead = true;
    this.#table.killClient(this.clientId);
  }

  #request<T>(name: string, options: LockOptions, callback: LockGrantedCallback<T>): Promise<Awaited<T>> {
    const { mode = 'exclusive', ifAvailable = false, steal = false, signal } = options;
    return new Promise<Awaited<T>>((resolve, reject) => {
      if (this.#isDead) return;
      if (signal?.aborted === true) return reject(signal.reason);
      const run = async (lock: Lock | null): Promise<Awaited<T>> => await callback(lock);
      const request: Request = {
        name,
        mode,
        clientId: this.clientId,
        grant: (lock) => {
          signal?.removeEventListener('abort', abort);
          void Promise.resolve()
            .then(() => (this.#isDead ? new Promise<never>(() => {}) : run(lock)))
            .finally(() => this.#table.release(request))
            .then(resolve, reject);
        },
        fail: reject,
      };
      const abort = (): void => {
        if (this.#table.withdraw(request)) reject(signal?.reason);
      };
      if (ifAvailable && !this.#table.isFree(request)) {
        run(null).then(resolve, reject);
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      this.#table.ask(request, steal);
    });
  }
}

function remove<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
  return index >= 0;
}
