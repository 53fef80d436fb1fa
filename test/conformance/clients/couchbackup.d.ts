/** What the tests use of couchbackup, which brings no types of its own. */
declare module '@cloudant/couchbackup' {
  export interface BackupOptions {
    readonly bufferSize?: number;
    readonly parallelism?: number;
    readonly log?: string;
    readonly resume?: boolean;
    readonly mode?: 'full' | 'shallow';
  }

  type Done = (error: Error | null, result?: { readonly total: number }) => void;

  const couchbackup: {
    backup(url: string, target: NodeJS.WritableStream, options: BackupOptions, done: Done): NodeJS.EventEmitter;
    restore(source: NodeJS.ReadableStream, url: string, options: BackupOptions, done: Done): NodeJS.EventEmitter;
  };
  export default couchbackup;
}
