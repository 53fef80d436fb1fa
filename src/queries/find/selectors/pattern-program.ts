/**
 * Compiles patterns to programs, and runs them by simulating a nondeterministic automaton (Thompson 1968, Pike): for each
 * character of the text it advances all instructions that are active at once, each of them once, so there is no backtracking.
 */
import { must } from '../../../base/shared/assert.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { Check, Effort } from '../effort.ts';
import { type CharacterTest, isWord } from './pattern-characters.ts';
import type { Assertion, PatternNode } from './pattern-parser.ts';
import type { PatternRoom } from './selector-room.ts';

type Instruction =
  /** Continues with the next instruction if the character passes. */
  | { readonly kind: 'character'; readonly test: CharacterTest; readonly cost: number }
  /** Continues with the next instruction if the assertion holds. */
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  /** Continues with each of these instructions. */
  | { readonly kind: 'fork'; to: readonly number[] }
  | { readonly kind: 'match' };

type Program = readonly Instruction[];

/** Steps between two checks of the effort. */
const ADVANCE_STEPS = 1_024;
const NO_CHARACTER = -1;
const LINE_FEED = 0x0a;

/** Compiles a pattern. Fails with 400 `bad_arg` if it is too long. */
export function compilePattern(source: string, tree: PatternNode, room: PatternRoom): Program {
  const instructions: Instruction[] = [];
  let cost = 0;
  const emit = (instruction: Instruction): void => {
    cost += instruction.kind === 'character' ? instruction.cost : 1;
    room.addInstruction(source, instructions.length, cost);
    instructions.push(instruction);
  };
  emitNode(tree, instructions, emit);
  emit({ kind: 'match' });
  return instructions;
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

/** Whether a value is a string with a part that matches. */
export class ProgramCheck implements Check {
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  now(value: unknown, effort: Effort): boolean {
    effort.take(1);
    if (typeof value !== 'string') return false;
    const machine = new Machine(this.#program, value);
    for (;;) {
      const found = machine.advance();
      effort.take(machine.steps);
      if (found !== undefined) return found;
    }
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    if (typeof value !== 'string') return false;
    const machine = new Machine(this.#program, value);
    for (;;) {
      const found = machine.advance();
      effort.count(machine.steps);
      if (found !== undefined) return found;
      if (effort.isRestDue()) yield;
    }
  }
}

class Machine {
  /** Steps of the last advance. */
  steps = 0;
  readonly #program: Program;
  readonly #text: string;
  /** For each instruction, the round (a position plus one) in which it was last reached. */
  readonly #reachedAt: Int32Array;
  #position = 0;
  #round = 0;
  /** Instructions that test the next character, and those that are reached after it. Fixed-size arrays are twice as fast. */
  readonly #waiting: Int32Array;
  #waitingCount = 0;
  readonly #passed: Int32Array;
  #passedCount = 0;
  /** The code points before and after the position. */
  #before = NO_CHARACTER;
  #after = NO_CHARACTER;
  /** Whether the text ends after the next character. */
  #isLast = false;

  constructor(program: Program, text: string) {
    this.#program = program;
    this.#text = text;
    this.#reachedAt = new Int32Array(program.length);
    this.#waiting = new Int32Array(program.length);
    this.#passed = new Int32Array(program.length);
  }

  /** Advances by some characters. Returns whether some part of the text matches, once that is known. */
  advance(): boolean | undefined {
    this.steps = 0;
    while (this.steps < ADVANCE_STEPS) {
      const found = this.#advanceByOne();
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #advanceByOne(): boolean | undefined {
    const text = this.#text;
    const code = text.codePointAt(this.#position) ?? NO_CHARACTER;
    const next = this.#position + (code > 0xffff ? 2 : 1);
    this.#round++;
    this.#after = code;
    this.#isLast = next >= text.length;
    this.#waitingCount = 0;
    for (let index = 0; index < this.#passedCount; index++) if (this.#reach(must(this.#passed[index]))) return true;
    if (this.#reach(0)) return true;
    if (code === NO_CHARACTER) return false;
    // The instructions after those whose character passes are reached in the next round.
    this.#passedCount = 0;
    for (let index = 0; index < this.#waitingCount; index++) {
      const at = must(this.#waiting[index]);
      const instruction = must(this.#program[at]);
      if (instruction.kind !== 'character') continue;
      this.steps += instruction.cost;
      if (instruction.test(code)) this.#passed[this.#passedCount++] = at + 1;
    }
    this.#before = code;
    this.#position = next;
    return undefined;
  }

  /** Follows the instructions from `start` on that consume no character. Returns true if that reaches a match. */
  #reach(start: number): boolean {
    const program = this.#program;
    const round = this.#round;
    const open = [start];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (this.#reachedAt[at] === round) continue;
      this.#reachedAt[at] = round;
      this.steps++;
      const instruction = must(program[at]);
      if (instruction.kind === 'match') return true;
      if (instruction.kind === 'character') this.#waiting[this.#waitingCount++] = at;
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
}
