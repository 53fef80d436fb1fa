/** What an export and an import of a database are told, and what they tell. Types alone. */

export interface ExportOptions {
  /**
   * Whether the lines have the content of attachments, as Base64. `false`: stubs, as `settee export` writes them; those can only be imported
   * where the content is already. Default: true.
   */
  readonly attachments?: boolean;
  readonly onProgress?: (progress: ExportProgress) => void;
  readonly signal?: AbortSignal;
}

export interface ExportProgress {
  /** Written so far. */
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
  /** Documents that are in the database now, whether they were before or not. */
  readonly written: number;
  readonly refused: number;
}

export interface ImportProgress extends ImportResult {
  /** Read so far, as the source has them. */
  readonly bytes: number;
  /** Absent where the source does not say how many it has. */
  readonly total?: number;
}

export interface RefusedLine {
  /** 1 for the first line. */
  readonly line: number;
  /** Undefined where the line is no document with an id. */
  readonly id: string | undefined;
  readonly error: string;
  readonly reason: unknown;
}
