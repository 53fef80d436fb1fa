/** Answers a question, or rejects with an AbortError. */
export type Ask = (question: string) => Promise<string>;

export function run(options: {
  readonly given: readonly string[];
  readonly folder: string;
  readonly ask: Ask | undefined;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
}): Promise<0 | 1>;
