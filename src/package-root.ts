import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder that holds package.json, from the sources and from the build alike. */
export function packageRoot(): string {
  let folder = __dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${__dirname}`);
    folder = parent;
  }
  return folder;
}
