/** Pictures from a camera or a file, made small enough to be kept on every device, and shown without a network. */

import type { Photo } from './note.ts';
import type { Photos } from './note-store.ts';

/** The longest side, in pixels. */
const PHOTO_PX = 1024;
const THUMBNAIL_PX = 96;

const QUALITY = 0.8;

/** Width and height that keep the shape, with no side longer than `longest`. Small pictures stay as they are. */
export function fittedSize(width: number, height: number, longest: number): { width: number; height: number } {
  const scale = Math.min(1, longest / Math.max(width, height, 1));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** Rejects if the file is no picture that this browser can read. */
export async function photosFromFile(file: Blob): Promise<Photos> {
  const picture = await createImageBitmap(file).catch((cause) => {
    throw new Error('This browser can’t read that file as a picture.', { cause });
  });
  try {
    return await photosFrom(picture);
  } finally {
    picture.close();
  }
}

export async function photosFrom(picture: ImageBitmap | HTMLCanvasElement): Promise<Photos> {
  return {
    photo: await encode(scaled(picture, PHOTO_PX)),
    thumbnail: await encode(squared(picture, THUMBNAIL_PX)),
  };
}

/** Draws a stored photo into a canvas. */
export async function drawPhoto(canvas: HTMLCanvasElement, { data }: Photo): Promise<void> {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: 'image/jpeg' }));
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext('2d')?.drawImage(picture, 0, 0);
  picture.close();
}

function scaled(picture: ImageBitmap | HTMLCanvasElement, longest: number): HTMLCanvasElement {
  const { width, height } = fittedSize(picture.width, picture.height, longest);
  return drawn(width, height, (context) => context.drawImage(picture, 0, 0, width, height));
}

/** The middle of the picture. */
function squared(picture: ImageBitmap | HTMLCanvasElement, side: number): HTMLCanvasElement {
  const part = Math.min(picture.width, picture.height);
  const [x, y] = [(picture.width - part) / 2, (picture.height - part) / 2];
  return drawn(side, side, (context) => context.drawImage(picture, x, y, part, part, 0, 0, side, side));
}

function drawn(width: number, height: number, draw: (context: CanvasRenderingContext2D) => void): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  if (context) {
    context.imageSmoothingQuality = 'high';
    // What is transparent would become black.
    context.fillStyle = '#ffffff';
    context.fillRect(0, 0, width, height);
    draw(context);
  }
  return canvas;
}

async function encode(canvas: HTMLCanvasElement): Promise<Photo> {
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', QUALITY));
  if (!blob) throw new Error('The picture could not be made smaller.');
  return { content_type: 'image/jpeg', data: await toBase64(blob) };
}

async function toBase64(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  // In parts, since a call takes a limited number of arguments.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
