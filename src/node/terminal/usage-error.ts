/** A call that can't be carried out as it was written. */
export class UsageError extends Error {
  /** The command whose help explains it; undefined for the general help. */
  readonly topic: string | undefined;

  constructor(message: string, topic?: string) {
    super(message);
    this.name = 'UsageError';
    this.topic = topic;
  }
}
