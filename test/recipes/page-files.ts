import { readPage, samplesOf } from '../unit/docs/pages.ts';

/** What a page of the documentation tells its reader to do: commands, and files to write. */
export interface Instructions {
  /** Lines of the `sh` blocks, without remarks. */
  readonly commands: readonly string[];
  /** By name. A block of code is the file that is named in backquotes at the beginning of the paragraph before it. */
  readonly files: ReadonlyMap<string, string>;
}

export function readInstructions(path: string): Instructions {
  const { text } = readPage(path);
  const commands = samplesOf(text, 'sh').flatMap((sample) =>
    sample.split('\n').map((line) => line.replace(/ # .*/, '')),
  );
  return { commands: commands.filter((line) => line.trim() !== ''), files: filesOf(text) };
}

/** A block that no paragraph with a name precedes is no file. */
export function filesOf(markdown: string): ReadonlyMap<string, string> {
  const blocks = markdown.matchAll(/(?:^|\n\n)((?:(?!\n\n|```)[\s\S])+):\n\n```(?!sh\n)\w+\n([\s\S]*?)\n```/g);
  const named = [...blocks].map(([, paragraph = '', code = '']) => [/^`([^`]+)`/.exec(paragraph.trim())?.[1], code]);
  return new Map(named.flatMap(([name, code]) => (name === undefined ? [] : [[name, `${code}\n`]])));
}
