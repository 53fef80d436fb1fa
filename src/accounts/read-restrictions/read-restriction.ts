/** The documents of a system database as a reader who is not its admin sees them. */
export interface ReadRestriction {
  /** The same for readers who see the same. */
  readonly tag: string;
  /** The reader may list its documents. */
  readonly maySeeList: boolean;
  /** The reader may follow its changes, without documents. */
  readonly maySeeChanges: boolean;
  /** The reader sees nothing of that document, whether or not it exists. */
  hides(id: string): boolean;
  /** The reader sees none of that document's attachments, as if it had none. */
  hidesAttachments(id: string): boolean;
  /** Returns a document's body as the reader sees it: the same text if that is all of it, undefined if nothing is visible. */
  show(id: string, body: string): string | undefined;
}
