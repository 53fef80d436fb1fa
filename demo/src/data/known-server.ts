/** The database server beside this page: its address, which the demo's own server names in each response that it passes on. */

export const SERVER_HEADER = 'x-settee-server';

/** Databases of this browser that have a copy at the server while both are connected. */
const COPIES: Readonly<Record<string, string>> = {
  'notes-phone': 'settee-notes',
  'notes-laptop': 'settee-notes',
  packing: 'settee-demo',
};

export class KnownServer {
  #address: string | undefined;

  /** As in `http://127.0.0.1:5984/`. Undefined: no response has named one, as where the page is served without a server. */
  get address(): string | undefined {
    return this.#address;
  }

  /** Looks for the address in a response. */
  note({ headers }: Pick<Response, 'headers'>): void {
    const named = headers.get(SERVER_HEADER);
    if (named !== null && URL.canParse(named)) this.#address = new URL(named).href;
  }
}

/** The name of the server's copy of a database of this browser. Undefined if only this browser has it. */
export function copyAtServer(database: string): string | undefined {
  return Object.hasOwn(COPIES, database) ? COPIES[database] : undefined;
}
