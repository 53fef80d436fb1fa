/**
 * Compiles patterns to programs, and runs them by simulating a nondeterministic automaton (Thompson 1968, Pike): for each
 * character of the text it advances all instructions that are active at once, each of them once, so there is no backtracking.
 */
import { must } from '../../shared/assert.ts';
import { badArgument } from '../query-error.ts';
import { type CharacterTest, isWord } from './pattern-characters.ts';
import type { Assertion, PatternNode } from './pattern-parser.ts';

type Instruction =
  /** Goes on with the next instruction if the character passes. */
  | { readonly kind: 'character'; readonly test: CharacterTest }
  /** Goes on with the next instruction if the assertion holds. */
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  /** Goes on with each of these instructions. */
  | { readonly kind: 'fork'; to: readonly number[] }
  | { readonly kind: 'match' };

interface Program {
  readonly source: string;
  readonly instructions: readonly Instruction[];
}

/** Bounds counted repetitions, which repeat the instructions. */
const MAX_INSTRUCTIONS = 2_000;
/** About a quarter of a second, in which the thread does nothing else. */
const MAX_STEPS = 4_000_000;

const NO_CHARACTER = -1;
const LINE_FEED = 0x0a;

/** Fails with 400 `bad_arg` where it is too long. */
export function compilePattern(source: string, tree: PatternNode): Program {
  const instructions: Instruction[] = [];
  const emit = (instruction: Instruction): void => {
    if (instructions.length >= MAX_INSTRUCTIONS) {
      throw badArgument('$regex', source, 'Written out with its repetitions it is too long.');
    }
    instructions.push(instruction);
  };
  emitNode(tree, instructions, emit);
  emit({ kind: 'match' });
  return { source, instructions };
}

type Emit = (instruction: Instruction) => void;

function emitNode(node: PatternNode, program: readonly Instruction[], emit: Emit): void {
  switch (node.kind) {
    case 'sequence':
      for (const part of node.parts) emitNode(part, program, emit);
      break;
    case 'choice':
      emitChoice(node.parts, program, emit);
      break;
    case 'repeat':
      emitRepeat(node.part, node.least, node.most, program, emit);
      break;
    default:
      emit(node);
  }
}

function emitChoice(parts: readonly PatternNode[], program: readonly Instruction[], emit: Emit): void {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) {
    emitNode(first, program, emit);
    return;
  }
  const begin: Fork = { kind: 'fork', to: [] };
  emit(begin);
  const starts: number[] = [];
  const ends: Fork[] = [];
  for (const part of parts) {
    starts.push(program.length);
    emitNode(part, program, emit);
    const end: Fork = { kind: 'fork', to: [] };
    emit(end);
    ends.push(end);
  }
  begin.to = starts;
  for (const end of ends) end.to = [program.length];
}

type Fork = Extract<Instruction, { readonly kind: 'fork' }>;

function emitRepeat(part: PatternNode, least: number, most: number, program: readonly Instruction[], emit: Emit): void {
  for (let count = 0; count < least; count++) {
    const before = program.length;
    emitNode(part, program, emit);
    // A part without instructions matches nothing, however often it is repeated.
    if (program.length === before) return;
  }
  if (most === Number.POSITIVE_INFINITY) {
    const begin: Fork = { kind: 'fork', to: [] };
    const start = program.length;
    emit(begin);
    emitNode(part, program, emit);
    emit({ kind: 'fork', to: [start] });
    begin.to = [start + 1, program.length];
    return;
  }
  const begins: Fork[] = [];
  for (let count = least; count < most; count++) {
    const begin: Fork = { kind: 'fork', to: [program.length + 1] };
    emit(begin);
    begins.push(begin);
    emitNode(part, program, emit);
  }
  for (const begin of begins) begin.to = [...begin.to, program.length];
}

/** Whether some part of the text matches. Fails with 400 `bad_arg` where it takes too long. */
export function runProgram(program: Program, text: string): boolean {
  return new Machine(program).run(text);
}

class Machine {
  readonly #program: Program;
  /** For each instruction the round, a position plus one, in which it was reached last. */
  readonly #reachedAt: Int32Array;
  /** Instructions that test the next character. */
  #waiting: number[] = [];
  #steps = 0;
  /** The code points before and after the position. */
  #before = NO_CHARACTER;
  #after = NO_CHARACTER;
  /** Whether the text ends after the next character. */
  #isLast = false;

  constructor(program: Program) {
    this.#program = program;
    this.#reachedAt = new Int32Array(program.instructions.length);
  }

  run(text: string): boolean {
    const { instructions } = this.#program;
    for (let position = 0, round = 1; ; round++) {
      this.#after = text.codePointAt(position) ?? NO_CHARACTER;
      const next = position + (this.#after > 0xffff ? 2 : 1);
      this.#isLast = next >= text.length;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const at of waiting) if (this.#reach(at, round)) return true;
      if (this.#reach(0, round)) return true;
      if (this.#after === NO_CHARACTER) return false;
      // The instructions after those whose character passes are reached in the next round.
      const code = this.#after;
      const passed: number[] = [];
      for (const at of this.#waiting) {
        const instruction = must(instructions[at]);
        if (instruction.kind === 'character' && instruction.test(code)) passed.push(at + 1);
      }
      this.#waiting = passed;
      this.#before = code;
      position = next;
    }
  }

  /** Follows the instructions from `start` on that consume no character. True where that reaches a match. */
  #reach(start: number, round: number): boolean {
    const { instructions } = this.#program;
    const open = [start];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (this.#reachedAt[at] === round) continue;
      this.#reachedAt[at] = round;
      this.#countStep();
      const instruction = must(instructions[at]);
      if (instruction.kind === 'match') return true;
      if (instruction.kind === 'character') this.#waiting.push(at);
      else if (instruction.kind === 'fork') open.push(...instruction.to);
      else if (this.#holds(instruction.assertion)) open.push(at + 1);
    }
    return false;
  }

  #holds(assertion: Assertion): boolean {
    switch (assertion) {
      case 'textStart':
        return this.#before === NO_CHARACTER;
      case 'textEnd':
        return this.#after === NO_CHARACTER;
      case 'lastLineEnd':
        return this.#after === NO_CHARACTER || (this.#after === LINE_FEED && this.#isLast);
      case 'lineStart':
        return this.#before === NO_CHARACTER || this.#before === LINE_FEED;
      case 'lineEnd':
        return this.#after === NO_CHARACTER || this.#after === LINE_FEED;
      case 'wordEdge':
        return isWord(this.#before) !== isWord(this.#after);
      case 'notWordEdge':
        return isWord(this.#before) === isWord(this.#after);
    }
  }

  #countStep(): void {
    if (++this.#steps <= MAX_STEPS) return;
    const remedy = 'A text of some document is too long for it; a shorter pattern takes less time.';
    throw badArgument('$regex', this.#program.source, remedy);
  }
}
