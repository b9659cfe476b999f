# docker build -t tiletune . && docker run --rm --gpus all -v "$PWD:/work" tiletune sweep quick
FROM debian:12 AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3 python3-pip
COPY . /tiletune
WORKDIR /tiletune
RUN TILETUNE_CUDA=wheels tools/setup release && cmake --build build/release --target tiletune && cmake --install build/release --prefix /opt/tiletune

FROM debian:12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends libfmt9 zlib1g && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/tiletune /opt/tiletune
COPY --from=build /tiletune/build/cuda /opt/cuda
ENV PATH=/opt/tiletune/bin:$PATH LD_LIBRARY_PATH=/opt/cuda/lib TILETUNE_CUDA_INCLUDE=/opt/cuda/include
WORKDIR /work
ENTRYPOINT ["tiletune"]
