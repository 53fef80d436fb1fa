/** Options of an export and an import of a database, and their reports. Types only. */

export interface ExportOptions {
  /**
   * Whether the lines contain attachments, as Base64. `false`: stubs, as `settee export` writes them; those can only be imported
   * if the content is already in the database. Default: true.
   */
  readonly attachments?: boolean;
  readonly onProgress?: (progress: ExportProgress) => void;
  readonly signal?: AbortSignal;
}

export interface ExportProgress {
  /** Number of documents written so far. */
  readonly documents: number;
  /** How many there were when the export began. */
  readonly total: number;
}

export interface ImportOptions {
  /** Called for each line that was not written. */
  readonly onRefused?: (refusal: RefusedLine) => void;
  readonly onProgress?: (progress: ImportProgress) => void;
  readonly signal?: AbortSignal;
}

export interface ImportResult {
  /** Documents that are now in the database, whether they were there before or not. */
  readonly written: number;
  readonly refused: number;
}

export interface ImportProgress extends ImportResult {
  /** Bytes read so far, as the source has them. */
  readonly bytes: number;
  /** Absent if the source does not say how many it has. */
  readonly total?: number;
}

export interface RefusedLine {
  /** 1 for the first line. */
  readonly line: number;
  /** Undefined if the line is not a document with an id. */
  readonly id: string | undefined;
  readonly error: string;
  readonly reason: unknown;
}
