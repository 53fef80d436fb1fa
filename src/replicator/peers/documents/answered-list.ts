import { ListCutter, ScalarElement } from '../../../json/list-cutter.ts';
import type { Answer } from '../asking/answer.ts';

/**
 * Hands on the elements of a list while they arrive. Fails with an `AttemptFailure` where the answer is no such list, or breaks off. An element
 * that is neither an object nor an array ends the list: what comes behind it is as good as not answered.
 */
export async function readElements(
  answer: Answer,
  member: string,
  take: (element: string) => Promise<void>,
): Promise<void> {
  const cutter = new ListCutter(member);
  for (let piece = await answer.pullText(); piece !== undefined; piece = await answer.pullText()) {
    const text = piece;
    const elements = answer.useable(() => cutUpToScalar(cutter, text));
    if (elements === undefined) return answer.discard();
    for (const element of elements) await take(element);
  }
  answer.useable(() => cutter.finish());
}

function cutUpToScalar(cutter: ListCutter, text: string): readonly string[] | undefined {
  try {
    return cutter.push(text);
  } catch (failure) {
    if (failure instanceof ScalarElement) return undefined;
    throw failure;
  }
}
