/** What the form of a new note does, in every framework. */
import { addNote, type Notes } from './notes';

const MAX_PHOTO_PIXELS = 1600;

/** Adds the note that the form describes, and empties the form. Returns what is wrong, or an empty text. */
export async function addFromForm(notes: Notes, form: HTMLFormElement): Promise<string> {
  const data = new FormData(form);
  const text = String(data.get('text')).trim();
  const photo = data.get('photo');
  try {
    await addNote(notes, text, photo instanceof File && photo.size > 0 ? await shrink(photo) : undefined);
    form.reset();
    return '';
  } catch (error) {
    return `The note is not stored: ${error instanceof Error ? error.message : error}`;
  }
}

/** Photos of phones have many megabytes. What is stored here is as large as a screen. */
async function shrink(photo: File): Promise<Blob> {
  const image = await createImageBitmap(photo).catch(() => {
    throw new Error(`${photo.name} is not a picture that this browser can show.`);
  });
  const scale = Math.min(1, MAX_PHOTO_PIXELS / Math.max(image.width, image.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  const context = canvas.getContext('2d');
  if (context === null) return photo;
  // JPEG has no transparency.
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  image.close();
  const small = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.85));
  return small ?? photo;
}
