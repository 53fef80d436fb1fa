/**
 * Patterns as programs of a machine that is in many places at once: for each character of the text it takes one step
 * from every place (Thompson 1968, Pike). No text makes it try anything twice.
 */
import { must } from '../../shared/assert.ts';
import { badArgument } from '../find-error.ts';
import { type CharacterTest, isWord } from './pattern-characters.ts';
import type { PatternNode, Place } from './pattern-parser.ts';

type Instruction =
  /** Goes on with the next instruction behind a character that passes. */
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'place'; readonly place: Place }
  /** Goes on at each of these. */
  | { readonly kind: 'fork'; to: readonly number[] }
  | { readonly kind: 'match' };

export interface Program {
  readonly source: string;
  readonly instructions: readonly Instruction[];
}

/** Counted repetitions are written out. */
const MAX_INSTRUCTIONS = 2_000;
/** A quarter of a second or so; nobody else has a turn meanwhile. */
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
    // Nothing, however often.
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
  /** When each instruction was last reached, as a position plus one. */
  readonly #reachedAt: Int32Array;
  /** Instructions that wait for a character. */
  #waiting: number[] = [];
  #steps = 0;
  /** Code points on both sides of the position. */
  #before = NO_CHARACTER;
  #after = NO_CHARACTER;
  /** Whether the text ends behind the character that follows. */
  #isLast = false;

  constructor(program: Program) {
    this.#program = program;
    this.#reachedAt = new Int32Array(program.instructions.length);
  }

  run(text: string): boolean {
    const { instructions } = this.#program;
    for (let position = 0, tick = 1; ; tick++) {
      this.#after = text.codePointAt(position) ?? NO_CHARACTER;
      const next = position + (this.#after > 0xffff ? 2 : 1);
      this.#isLast = next >= text.length;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const at of waiting) if (this.#reach(at, tick)) return true;
      if (this.#reach(0, tick)) return true;
      if (this.#after === NO_CHARACTER) return false;
      // Those that the character lets on are reached in the next round.
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

  /** Follows everything that needs no character. True where that is a match. */
  #reach(start: number, tick: number): boolean {
    const { instructions } = this.#program;
    const open = [start];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (this.#reachedAt[at] === tick) continue;
      this.#reachedAt[at] = tick;
      this.#countStep();
      const instruction = must(instructions[at]);
      if (instruction.kind === 'match') return true;
      if (instruction.kind === 'character') this.#waiting.push(at);
      else if (instruction.kind === 'fork') open.push(...instruction.to);
      else if (this.#isAt(instruction.place)) open.push(at + 1);
    }
    return false;
  }

  #isAt(place: Place): boolean {
    switch (place) {
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
