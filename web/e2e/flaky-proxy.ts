import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A network between browser and app that can fail: it passes bytes on until it is cut. */
export class FlakyProxy {
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  readonly #server;

  constructor(port: number) {
    this.#server = createServer((near) => {
      if (this.#isCut) {
        near.destroy();
        return;
      }
      const far = connect(port, "127.0.0.1");
      this.#hold(near, far);
      this.#hold(far, near);
      near.pipe(far).pipe(near);
    });
  }

  /** A wire to the app at this port of the machine. */
  static async to(port: number): Promise<FlakyProxy> {
    const proxy = new FlakyProxy(port);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The app's origin at the near end. */
  get url(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every connection and lets none come about. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  stop(): void {
    this.cut();
    this.#server.close();
  }

  #hold(socket: Socket, other: Socket): void {
    this.#sockets.add(socket);
    // What breaks at one end breaks at the other.
    socket.on("error", () => other.destroy());
    socket.on("close", () => {
      this.#sockets.delete(socket);
      other.destroy();
    });
  }
}
