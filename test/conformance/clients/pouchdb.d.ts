/** What the tests use of PouchDB, which brings no types of its own. Answers stay unknown until they are read. */
declare module 'pouchdb-core' {
  interface Options {
    readonly [name: string]: unknown;
  }

  class PouchDB {
    static plugin(plugin: unknown): typeof PouchDB;
    constructor(url: string, options?: Options);
    info(): Promise<unknown>;
    get(id: string, options?: Options): Promise<unknown>;
    put(document: object, options?: Options): Promise<{ readonly id: string; readonly rev: string }>;
    post(document: object): Promise<{ readonly id: string; readonly rev: string }>;
    remove(id: string, rev: string): Promise<{ readonly id: string; readonly rev: string }>;
    putAttachment(
      id: string,
      name: string,
      rev: string | undefined,
      data: unknown,
      type: string,
    ): Promise<{ readonly id: string; readonly rev: string }>;
    getAttachment(id: string, name: string, options?: Options): Promise<unknown>;
    removeAttachment(id: string, name: string, rev: string): Promise<{ readonly id: string; readonly rev: string }>;
    bulkDocs(docs: readonly object[], options?: Options): Promise<readonly unknown[]>;
    bulkGet(options: Options): Promise<unknown>;
    allDocs(options?: Options): Promise<unknown>;
    revsDiff(revs: Readonly<Record<string, readonly string[]>>): Promise<unknown>;
    changes(options?: Options): PouchDB.Changes;
    /** With `pouchdb-replication`. */
    sync(other: string | PouchDB, options?: Options): PouchDB.Replication;
    readonly replicate: {
      from(source: string | PouchDB, options?: Options): PouchDB.Replication;
      to(target: string | PouchDB, options?: Options): PouchDB.Replication;
    };
    compact(): Promise<unknown>;
    destroy(): Promise<unknown>;
    close(): Promise<void>;
  }

  namespace PouchDB {
    interface Changes extends Promise<unknown> {
      on(event: 'change' | 'complete' | 'error' | 'paused', listener: (value: unknown) => void): this;
      cancel(): void;
    }

    interface Replication extends Promise<unknown> {
      on(
        event: 'change' | 'complete' | 'error' | 'denied' | 'paused' | 'active',
        listener: (value: unknown) => void,
      ): this;
      cancel(): void;
    }
  }

  export default PouchDB;
}

declare module 'pouchdb-replication' {
  const plugin: unknown;
  export default plugin;
}

declare module 'pouchdb-adapter-memory' {
  const plugin: unknown;
  export default plugin;
}

declare module 'pouchdb-adapter-http' {
  const plugin: unknown;
  export default plugin;
}

/** All of it in one file, for browsers. */
declare module 'pouchdb/dist/pouchdb.js' {
  export { default } from 'pouchdb-core';
}
