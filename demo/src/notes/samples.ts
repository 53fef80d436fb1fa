/** The notes with which the demo begins, with pictures that are drawn here. */

import { localTime, type Note, type Place } from './note.ts';
import type { Photos } from './note-store.ts';
import { photosFrom } from './photo.ts';

interface Sample {
  readonly text: string;
  readonly kind: string;
  readonly tags: readonly string[];
  readonly place: Place;
  readonly daysAgo: number;
  readonly clock: string;
  readonly scene: Scene;
}

/** A landscape: sky, sun, ridges from far to near, and perhaps water or birds. */
interface Scene {
  readonly sky: readonly [top: string, bottom: string];
  readonly sun: { readonly x: number; readonly y: number; readonly colour: string };
  readonly ridges: readonly string[];
  readonly rough: number;
  readonly water?: string;
  readonly birds?: number;
}

const samples: readonly Sample[] = [
  {
    text: 'Three herons at the ferry landing\nThey wait for the boat as we do.',
    kind: 'animal',
    tags: ['river', 'birds'],
    place: [38.7, -9.1],
    daysAgo: 0,
    clock: '07:40',
    scene: {
      sky: ['#f6c48b', '#fbe8c9'],
      sun: { x: 0.7, y: 0.5, colour: '#fff4d6' },
      ridges: ['#c08a6b', '#8a5f55'],
      rough: 0.5,
      water: '#d99f78',
      birds: 3,
    },
  },
  {
    text: 'First snow on the pass\nThe road is still open, the hut is not.',
    kind: 'weather',
    tags: ['mountains'],
    place: [46.6, 8.5],
    daysAgo: 1,
    clock: '16:05',
    scene: {
      sky: ['#7d93ab', '#d8e0e6'],
      sun: { x: 0.25, y: 0.3, colour: '#f2f4f2' },
      ridges: ['#b9c6d2', '#8ea2b4', '#f3f5f4'],
      rough: 1.5,
    },
  },
  {
    text: 'Moss garden after the rain\nMore greens than I have names for.',
    kind: 'plant',
    tags: ['garden', 'moss'],
    place: [35, 135.8],
    daysAgo: 1,
    clock: '10:20',
    scene: {
      sky: ['#a9bfae', '#dfe8d3'],
      sun: { x: 0.5, y: 0.2, colour: '#eef3df' },
      ridges: ['#7f9f77', '#55803f', '#39602f'],
      rough: 0.35,
    },
  },
  {
    text: 'Giraffes on the road to the lake\nFive, and one that would not move.',
    kind: 'animal',
    tags: ['road'],
    place: [-0.4, 36.1],
    daysAgo: 3,
    clock: '17:50',
    scene: {
      sky: ['#e8925a', '#f7d38e'],
      sun: { x: 0.35, y: 0.62, colour: '#fff0b8' },
      ridges: ['#a8643c', '#6b4526'],
      rough: 0.3,
      birds: 5,
    },
  },
  {
    text: 'Last light on the glacier\nBlue below, rose above, for about four minutes.',
    kind: 'view',
    tags: ['mountains', 'ice'],
    place: [-50.5, -73.1],
    daysAgo: 4,
    clock: '20:45',
    scene: {
      sky: ['#46598a', '#eab0a8'],
      sun: { x: 0.8, y: 0.68, colour: '#ffd9c2' },
      ridges: ['#8f9cc4', '#5b6f9e', '#2f4470'],
      rough: 1.3,
      water: '#7fa3c4',
    },
  },
  {
    text: 'Market day by the harbour\nA man sells only lemons, and sells out by nine.',
    kind: 'people',
    tags: ['market', 'harbour'],
    place: [64.1, -21.9],
    daysAgo: 6,
    clock: '08:55',
    scene: {
      sky: ['#6fa3c2', '#e3eef0'],
      sun: { x: 0.6, y: 0.35, colour: '#ffffff' },
      ridges: ['#6d8c97', '#44606b'],
      rough: 0.8,
      water: '#4f8aa6',
      birds: 2,
    },
  },
];

/** None is later than `now`: a visitor's first note comes above all of them. */
export async function sampleNotes(now: Date): Promise<readonly { readonly note: Note; readonly photos: Photos }[]> {
  const time = localTime(now).slice(11);
  const shift = samples.some(({ daysAgo, clock }) => daysAgo === 0 && clock > time) ? 1 : 0;
  return Promise.all(
    samples.map(async ({ scene, daysAgo, clock, ...rest }, index) => {
      const day = localTime(new Date(now.getTime() - (daysAgo + shift) * 86_400_000)).slice(0, 10);
      const note = { ...rest, time: `${day}T${clock}`, by: 'Phone' };
      return { note, photos: await photosFrom(draw(scene, index + 1)) };
    }),
  );
}

const WIDTH = 640;
const HEIGHT = 420;

function draw(scene: Scene, seed: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  const context = canvas.getContext('2d');
  if (!context) return canvas;
  const random = randomNumbers(seed);
  drawSky(context, scene);
  for (const [index, colour] of scene.ridges.entries()) {
    drawRidge(context, colour, 0.52 + (index * 0.4) / scene.ridges.length, scene.rough, random);
  }
  if (scene.water !== undefined) drawWater(context, scene.water, random);
  for (let bird = 0; bird < (scene.birds ?? 0); bird++) drawBird(context, random);
  return canvas;
}

function drawSky(context: CanvasRenderingContext2D, { sky: [top, bottom], sun }: Scene): void {
  const gradient = context.createLinearGradient(0, 0, 0, HEIGHT * 0.75);
  gradient.addColorStop(0, top);
  gradient.addColorStop(1, bottom);
  context.fillStyle = gradient;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  for (const [radius, opacity] of [
    [95, 0.18],
    [60, 0.3],
    [34, 1],
  ] as const) {
    context.globalAlpha = opacity;
    context.fillStyle = sun.colour;
    context.beginPath();
    context.arc(sun.x * WIDTH, sun.y * HEIGHT, radius, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
}

/** From side to side, as a sum of waves. */
function drawRidge(
  context: CanvasRenderingContext2D,
  colour: string,
  level: number,
  rough: number,
  random: () => number,
): void {
  const waves = [1, 2.3, 5.1, 11].map((frequency) => ({
    frequency,
    phase: random() * 2 * Math.PI,
    height: (rough * 42) / frequency ** 0.8,
  }));
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(0, HEIGHT);
  for (let x = 0; x <= WIDTH; x += 4) {
    const rise = waves.reduce(
      (sum, { frequency, phase, height }) => sum + Math.sin((x / WIDTH) * frequency * Math.PI * 2 + phase) * height,
      0,
    );
    context.lineTo(x, level * HEIGHT - rise);
  }
  context.lineTo(WIDTH, HEIGHT);
  context.fill();
}

function drawWater(context: CanvasRenderingContext2D, colour: string, random: () => number): void {
  const top = HEIGHT * 0.8;
  context.fillStyle = colour;
  context.fillRect(0, top, WIDTH, HEIGHT - top);
  context.fillStyle = '#ffffff';
  for (let line = 0; line < 26; line++) {
    context.globalAlpha = 0.12 + random() * 0.2;
    context.fillRect(random() * WIDTH, top + 4 + random() * (HEIGHT - top - 8), 30 + random() * 90, 2);
  }
  context.globalAlpha = 1;
}

function drawBird(context: CanvasRenderingContext2D, random: () => number): void {
  const [x, y] = [WIDTH * (0.2 + random() * 0.6), HEIGHT * (0.12 + random() * 0.28)];
  const size = 9 + random() * 9;
  context.strokeStyle = '#3a3330';
  context.lineWidth = 2.5;
  context.lineCap = 'round';
  context.beginPath();
  context.moveTo(x - size, y - size * 0.35);
  context.quadraticCurveTo(x - size * 0.4, y - size * 0.7, x, y);
  context.quadraticCurveTo(x + size * 0.4, y - size * 0.7, x + size, y - size * 0.35);
  context.stroke();
}

/** The same ones for the same seed, so that the pictures are the same everywhere. */
function randomNumbers(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 12)) >>> 0) / 4_294_967_296;
  };
}
