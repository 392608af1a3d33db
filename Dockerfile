# reversid as static binaries on an empty base. How to run, harden and update it: docs/container.md
#
#   docker build -t reversid:dev .

FROM rust:1.95-bookworm AS base
# One file that needs nothing of the system. Build scripts and macros stay as they are, since a target is named below.
ENV RUSTFLAGS="-C target-feature=+crt-static"
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /src

# What decides about the dependencies: manifests, with an empty source for each target. Made of all sources, so it is made
# anew each time; but what copies from it is not, as long as the copy is the same.
FROM base AS manifests
COPY . .
RUN find . \( -path ./vendor -o -path ./.cargo \) -prune -o -type f ! -name Cargo.toml ! -name Cargo.lock \
        ! -name build.rs ! -path '*/src/main.rs' ! -path '*/src/lib.rs' -exec rm {} +; \
    echo 'fn main() {}' >/empty.rs; \
    find . -path ./vendor -prune -o -name '*.rs' -exec cp /empty.rs {} ';'; \
    # Of members that are not built, only the manifest is here.
    find . -path ./vendor -prune -o -name Cargo.toml \
        -execdir sh -c 'test -e src/main.rs || test -e src/lib.rs || install -D /empty.rs src/lib.rs' ';'; \
    find . -type d -empty -delete

# The dependencies, compiled: a layer that only a change of theirs builds anew. What was made of the empty sources goes.
FROM base AS dependencies
COPY --from=manifests /src .
RUN cargo build --release --locked --target host-tuple -p reversid -p reversictl; \
    cargo clean --release --locked --target host-tuple --workspace

FROM dependencies AS build
COPY . .
# The commit, for --version: a build context has no repository to ask.
ARG COMMIT
RUN REVERSID_COMMIT="$COMMIT" cargo build --release --locked --target host-tuple -p reversid -p reversictl; \
    mkdir -p /image/data; \
    cp target/*/release/reversid target/*/release/reversictl /image

FROM scratch
# Authorities that TLS connections trust.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /image/data /data
COPY --from=build /image/reversid /image/reversictl /

ENV PATH=/ \
    REVERSID_LISTEN=0.0.0.0:7420 \
    REVERSID_ADMIN_LISTEN=0.0.0.0:7421 \
    REVERSID_STORE=file:/data/reversi.redb
VOLUME /data
USER 65532:65532
EXPOSE 7420 7421
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/reversid", "health"]
ENTRYPOINT ["/reversid"]

ARG COMMIT
ARG CREATED
ARG VERSION=0.2.0-dev
LABEL org.opencontainers.image.title="reversid" \
    org.opencontainers.image.description="A game-state service for Reversi and its variants, over gRPC" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$COMMIT" \
    org.opencontainers.image.created="$CREATED"
