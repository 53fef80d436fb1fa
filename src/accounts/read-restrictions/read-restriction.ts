/** The documents of a system database as one of its readers sees them, who is no admin of it. */
export interface ReadRestriction {
  /** The same for readers who see the same. */
  readonly tag: string;
  /** The reader may list its documents. */
  readonly maySeeList: boolean;
  /** The reader may follow its changes, without documents. */
  readonly maySeeChanges: boolean;
  /** The reader sees nothing of that document, whether it is there or not. */
  hides(id: string): boolean;
  /** The reader gets none of that document's attachments, as if there were none. */
  hidesAttachments(id: string): boolean;
  /** The text of a document's body as the reader sees it: the same text where that is all of it, undefined where it is nothing. */
  show(id: string, body: string): string | undefined;
}
