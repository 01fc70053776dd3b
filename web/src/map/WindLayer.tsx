import type { Camera } from "./camera";
export function WindLayer(_: { camera: { readonly value: Camera }; session: string }) {
  return null;
}
