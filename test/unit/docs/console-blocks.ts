/** A command that a page shows, and what it says the answer is. */
export interface ConsoleStep {
  readonly command: string;
  /** Lines; `…` stands for any text within a line. */
  readonly answer: string;
}

/** The steps of all `console` blocks, in order: lines that begin with `$ `, each with the lines up to the next. */
export function readSteps(markdown: string): ConsoleStep[] {
  return [...markdown.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = '', ...lines] = step.trimEnd().split('\n');
        return { command, answer: lines.join('\n') };
      }),
  );
}

/** Whether a text is what an answer shows. */
export function matchesAnswer(text: string, answer: string): boolean {
  const parts = answer.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^\\n]*')}$`).test(text);
}
